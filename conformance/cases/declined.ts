import type { TestCase } from './test-case.ts'

const users =
  'CreateCredential and CreateUser are not supported: passwords and users are those of the auth service (docs/adr/kmip-3.md).'
const query =
  'Query must list Login, Logout, CreateUser, CreateCredential and the types of users and credentials, which are not supported.'

/** Mandatory cases of KMIP 3.0 that ask for what the server declines, with the reason. */
const declined: Readonly<Record<string, string>> = {
  'BL-M-15-30': users,
  'BL-M-16-30': users,
  'BL-M-17-30': users,
  'BL-M-18-30': users,
  'BL-M-19-30': users,
  'MSGENC-HTTPS-M-1-30': query,
  'MSGENC-JSON-M-1-30': query,
  'MSGENC-XML-M-1-30': query,
}

/** Why the server declines what a case asks for; undefined if it does not. */
export function reasonToDecline({ name }: TestCase): string | undefined {
  return declined[name]
}
