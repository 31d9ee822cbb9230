import { failure } from '@warder/base'
import Type from 'typebox'

/** Standard base64 with padding (RFC 4648 §4), as in Vault. @throws failure('bad_request') */
export function decodeBase64(text: string, member: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) throw failure('bad_request', `failed to base64-decode ${member}`)
  return bytes
}

/** Adds Vault's prefix to the output of a version of a key. */
export function withVersion(version: number, text: string): string {
  return `vault:v${version}:${text}`
}

/** Longest number of a version that is read as one. */
const form = /^vault:v([1-9][0-9]{0,5}):(.*)$/s

/** @throws failure('bad_request') unless it has the form `vault:vN:…` */
export function readVersioned(
  text: string,
  what: 'ciphertext' | 'signature',
): { readonly version: number; readonly text: string } {
  const [, version, rest] = form.exec(text) ?? []
  if (version === undefined || rest === undefined)
    throw failure('bad_request', `invalid ${what}: no prefix \`vault:vN:\``)
  return { version: Number(version), text: rest }
}

/** The envelope of every answer. */
export function answer(data: unknown): object {
  return {
    request_id: '',
    lease_id: '',
    renewable: false,
    lease_duration: 0,
    data,
    wrap_info: null,
    warnings: null,
    auth: null,
  }
}

/** The number of a version: clients in Go send it as a string. 0 or absent: the newest. */
export const VersionNumber = Type.Optional(
  Type.Union([Type.Integer({ minimum: 0 }), Type.String({ pattern: '^[0-9]{0,6}$' })]),
)
