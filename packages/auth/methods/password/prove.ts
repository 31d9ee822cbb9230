import type { QueueOwner } from '@warder/runtime'
import type { Change } from '@warder/storage'
import Type from 'typebox'
import { type Subject, sessionClaims } from '../../claims.ts'
import {
  credentialChanged,
  firstProof,
  LoginRefused,
  type LoginServices,
  methodNotEnabled,
  unknownRealm,
} from '../../login/method.ts'
import { methodSettings, type Realm } from '../../realms/realm.ts'
import { isUsername } from '../../texts.ts'
import type { Credential } from './credential.ts'
import { credentialUnchanged, credentialUpdate, findCredential } from './credential-store.ts'
import { hashOwner, type PasswordHasher } from './password-hash.ts'
import { maxPasswordLength, normalPassword, type PasswordPolicySettings } from './password-rules.ts'

/** Whether a realm accepts logins with passwords. */
export const passwordSettings = methodSettings(
  'username_password_params',
  Type.Object({ allow_expired_passwords: Type.Boolean() }),
)

/** A password from a request, and the owner of its hash in the queue. */
interface GivenPassword {
  readonly username: string
  readonly password: string
  readonly owner: QueueOwner
}

/**
 * Verifies a password. The same hash is computed whether the realm, the name or the password is wrong. @throws
 * LoginRefused
 */
export async function provePassword(
  services: Pick<PasswordServices, 'db' | 'hasher'>,
  realm: Realm | undefined,
  { username, password, owner }: GivenPassword,
): Promise<{ readonly realm: Realm; readonly credential: Credential }> {
  const open = realm !== undefined && passwordSettings.of(realm) !== undefined
  const credential =
    open && isUsername(username) ? await findCredential(services.db, realm.id, username) : undefined
  const tried = password.length > maxPasswordLength * 4 ? '' : normalPassword(password)
  const right = await services.hasher.verify(credential?.passwordHash, tried, owner)
  if (realm === undefined) throw unknownRealm()
  if (!open) throw methodNotEnabled()
  if (credential === undefined) throw new LoginRefused('unknown_user', 'password')
  if (!right || tried === '') throw new LoginRefused('wrong_password', 'password')
  return { realm, credential }
}

/** Proves a login by the password of an `Authorization: Basic` header. */
export const passwordProof = firstProof<PasswordServices, 'basic'>({
  takes: 'basic',
  getUsername: ({ username }) => username,
  async prove(context, attempt) {
    const owner = hashOwner(context.request, attempt.realmId)
    const given = { ...attempt.credential, owner }
    const { realm, credential } = await provePassword(context.services, attempt.realm, given)
    const subject: Subject = {
      username: credential.username,
      scheme: 'up',
      certificateSha256: undefined,
      roles: credential.roles,
      extraClaims: sessionClaims(credential.extraClaims),
    }
    const proofs = [
      { guard: await keepOrRenew(context.services, credential, given), createRefusal: credentialChanged },
    ]
    const expired = credential.changePassword && passwordSettings.of(realm)?.allow_expired_passwords !== true
    return { realm, subject, proofs, ...(expired ? { nextStep: 'ChangePassword' } : {}) }
  },
})

/**
 * The guard of a login; it also replaces a hash that is not approved. The hash can be replaced only at a login, which
 * has the password.
 */
async function keepOrRenew(
  { hasher }: PasswordServices,
  credential: Credential,
  { password, owner }: GivenPassword,
): Promise<Change> {
  if (!hasher.isOutdated(credential.passwordHash)) return credentialUnchanged(credential)
  const passwordHash = await hasher.hash(normalPassword(password), owner)
  return credentialUpdate({ ...credential, passwordHash })
}

export interface PasswordServices extends LoginServices {
  readonly hasher: PasswordHasher
  readonly config: PasswordPolicySettings
}
