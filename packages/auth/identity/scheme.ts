import Type from 'typebox'

const shortNames = {
  UsernamePassword: 'up',
  Jwt: 'jwt',
  ClientCertificate: 'cc',
  Fido2: 'f2',
  DigitalCredentials: 'dc',
  Saml: 'sa',
} as const
/** Authentication schemes: password, JWT, client certificate, FIDO2, digital credentials, SAML. */
export type AuthScheme = (typeof shortNames)[keyof typeof shortNames]

/** A scheme as clients may write it: `UsernamePassword` or `up`, and so on. */
export const SchemeName = Type.Union(
  [...Object.keys(shortNames), ...Object.values(shortNames)].map((name) => Type.Literal(name)),
)

/** @param name a value accepted by `SchemeName` */
export function readScheme(name: string): AuthScheme {
  return Object.hasOwn(shortNames, name) ? shortNames[name as keyof typeof shortNames] : (name as AuthScheme)
}
