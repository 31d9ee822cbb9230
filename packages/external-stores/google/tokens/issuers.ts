/** Roles of an authorization token (Google's reference, "Authorization tokens"). */
export type Role = 'reader' | 'writer' | 'upgrader' | 'decrypter' | 'signer' | 'migrator' | 'verifier'

/** An issuer of Google's authorization tokens. */
export interface AuthorizationIssuer {
  /** As records name it. */
  readonly application: string
  readonly issuer: string
  /** Roles that it gives: one of another application is not accepted from it. */
  readonly roles: readonly Role[]
  /** Longest resource name, in bytes. */
  readonly resourceBytes: number
}

const documents: readonly Role[] = ['reader', 'writer', 'upgrader']
const mail: readonly Role[] = ['decrypter', 'signer']
const tokenIssuer = (application: string): string =>
  `gsuitecse-tokenissuer-${application}@system.gserviceaccount.com`

/** Google's issuers ("Configure your service", "Authorization tokens"). */
export const authorizationIssuers: readonly AuthorizationIssuer[] = [
  ...['drive', 'meet', 'calendar'].map((application) => ({
    application,
    issuer: tokenIssuer(application),
    roles: documents,
    resourceBytes: 128,
  })),
  ...['gmail', 'gmail-sta'].map((application) => ({
    application,
    issuer: tokenIssuer(application),
    roles: mail,
    resourceBytes: 512,
  })),
  {
    application: 'migration',
    issuer: 'apps-security-cse-kaclscommunication@system.gserviceaccount.com',
    roles: ['migrator', 'verifier'],
    resourceBytes: 128,
  },
]

/** The one audience of Google's authorization tokens. */
export const authorizationAudience = 'cse-authorization'
/** Of tokens by which one key service asks another for a key that is moved ("Authentication tokens"). */
export const migrationAudience = 'kacls-migration'
/** Audience of this service's tokens by which another user acts for a user. No other token of it has this audience. */
export const delegationAudience = 'kacls-delegation'
