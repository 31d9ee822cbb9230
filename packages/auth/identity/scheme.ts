import Type from 'typebox'

/** How somebody authenticated: password, JWT, client certificate, FIDO2, digital credentials, SAML. */
export type AuthScheme = 'up' | 'jwt' | 'cc' | 'f2' | 'dc' | 'sa'

const longNames: Readonly<Record<string, AuthScheme>> = {
  UsernamePassword: 'up',
  Jwt: 'jwt',
  ClientCertificate: 'cc',
  Fido2: 'f2',
  DigitalCredentials: 'dc',
  Saml: 'sa',
}
const shortNames: readonly AuthScheme[] = ['up', 'jwt', 'cc', 'f2', 'dc', 'sa']

/** A scheme as callers may write it: `UsernamePassword` or `up`, and so on. */
export const SchemeName = Type.Union(
  [...Object.keys(longNames), ...shortNames].map((name) => Type.Literal(name)),
)

/** @param name a text that `SchemeName` let through */
export function readScheme(name: string): AuthScheme {
  return longNames[name] ?? (name as AuthScheme)
}
