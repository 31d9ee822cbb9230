import { failure, isName } from '@warder/base'
import type { QueueOwner } from '@warder/runtime'
import Type, { type Static } from 'typebox'
import { checkExtraClaims } from '../../claims.ts'
import { checkUsername, Username } from '../../texts.ts'
import { isAcceptedHash, type PasswordHasher } from './password-hash.ts'
import { initialPasswordProblem, normalPassword, type PasswordPolicy } from './password-rules.ts'

/** Exactly one of the two members. */
const PasswordInput = Type.Object({
  plaintext: Type.Optional(Type.String()),
  hashed: Type.Optional(Type.String({ maxLength: 512 })),
})
const Roles = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 256 })

/** Roles and extra claims are part of the session cookie of each request, whose headers are limited. */
const maxRolesBytes = 4096

/** A credential in a request. The realm is that of the path; on update the name is, too, whatever the body contains. */
export const CredentialInput = Type.Object({
  realm: Type.Optional(Type.String()),
  username: Type.Optional(Username),
  password_hash: Type.Optional(
    Type.String({
      maxLength: 512,
      description: 'Read-only, ignored in requests: password_input sets a password.',
    }),
  ),
  password_input: Type.Optional(Type.Union([PasswordInput, Type.Null()])),
  change_password: Type.Optional(Type.Boolean()),
  roles: Type.Optional(Type.Union([Roles, Type.Null()])),
  extra_claims: Type.Optional(Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()])),
  warnings: Type.Optional(Type.Array(Type.String(), { description: 'Read-only, ignored in requests.' })),
})
export type CredentialRequest = Static<typeof CredentialInput>

/** A stored credential. */
export interface Credential {
  readonly realm: string
  readonly username: string
  readonly passwordHash: string
  readonly changePassword: boolean
  readonly roles: readonly string[]
  readonly extraClaims: Readonly<Record<string, unknown>> | undefined
  /** Increases with every change; a login fails when it has changed meanwhile. */
  readonly version: number
}

/** A credential in a reply, without its hash. */
export const CredentialReply = Type.Object({
  realm: Type.String(),
  username: Type.String(),
  password_hash: Type.Literal(''),
  change_password: Type.Boolean(),
  roles: Type.Array(Type.String()),
  extra_claims: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
})

/** Reply to the administrator who sets the credential. */
export const ChangedCredentialReply = Type.Object({
  ...CredentialReply.properties,
  warnings: Type.Optional(
    Type.Array(Type.String(), { description: 'Problems that did not prevent the change.' }),
  ),
})

export function showCredential(
  credential: Pick<Credential, 'realm' | 'username' | 'changePassword' | 'roles' | 'extraClaims'>,
): Static<typeof CredentialReply> {
  const { realm, username, changePassword, roles, extraClaims } = credential
  const shown = {
    realm,
    username,
    password_hash: '' as const,
    change_password: changePassword,
    roles: [...roles],
  }
  return extraClaims === undefined ? shown : { ...shown, extra_claims: { ...extraClaims } }
}

/** A validated change of a credential; `password` only if the request contains one. */
export interface CredentialChange {
  readonly changePassword: boolean
  readonly roles: readonly string[]
  readonly extraClaims: Readonly<Record<string, unknown>> | undefined
  readonly password: { readonly plaintext: string } | { readonly hashed: string } | undefined
}

/** @throws failure('bad_request') when a member is invalid */
export function readCredential(
  username: string,
  input: CredentialRequest,
  policy: PasswordPolicy,
): CredentialChange {
  checkUsername(username)
  const extraClaims = input.extra_claims ?? undefined
  const roles = input.roles ?? []
  if (!roles.every(isName)) {
    throw failure(
      'bad_request',
      'roles: must have no control or format characters and no blanks at their ends.',
    )
  }
  if (Buffer.byteLength(JSON.stringify(roles)) > maxRolesBytes) {
    throw failure('bad_request', 'roles: must not exceed 4096 bytes as JSON.')
  }
  if (extraClaims !== undefined) checkExtraClaims(extraClaims)
  return {
    changePassword: input.change_password ?? false,
    roles,
    extraClaims,
    password: readPassword(username, input.password_input ?? undefined, policy),
  }
}

function readPassword(
  username: string,
  input: CredentialRequest['password_input'],
  policy: PasswordPolicy,
): CredentialChange['password'] {
  if (!input) return undefined
  const { plaintext, hashed } = input
  if ((plaintext === undefined) === (hashed === undefined)) {
    throw failure('bad_request', 'password_input: give either plaintext or hashed.')
  }
  if (plaintext !== undefined) {
    const problem = initialPasswordProblem(plaintext, username, policy)
    if (problem !== undefined) throw failure('bad_request', `password_input.plaintext: ${problem}.`)
    return { plaintext: normalPassword(plaintext) }
  }
  if (hashed === undefined || !isAcceptedHash(hashed, policy.fips)) {
    const others = policy.fips ? '' : 'of argon2id, v=19, with exactly m=65536, t=3, p=4, or '
    throw failure(
      'bad_request',
      `password_input.hashed: must be a PHC string ${others}of pbkdf2-sha512 with exactly i=210000 and 64 bytes.`,
    )
  }
  return { hashed }
}

/** Returns the hash to store. @throws failure('overloaded') */
export async function toStoredHash(
  password: NonNullable<CredentialChange['password']>,
  hasher: PasswordHasher,
  owner: QueueOwner,
): Promise<string> {
  return 'hashed' in password ? password.hashed : hasher.hash(password.plaintext, owner)
}
