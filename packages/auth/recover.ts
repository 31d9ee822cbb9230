import { randomUUID } from 'node:crypto'
import { StartupError } from '@warder/base'
import { type Database, retryOnGuard, type Seal } from '@warder/storage'
import { findAdmin } from './admins/admin-store.ts'
import { uselessCodesRemoval } from './login/recovery-code-store.ts'
import { listPasskeys, passkeysRemoval } from './methods/passkey/passkey-store.ts'
import { credentialInsertion, credentialUpdate, findCredential } from './methods/password/credential-store.ts'
import { createPasswordHasher } from './methods/password/password-hash.ts'
import {
  initialPasswordProblem,
  normalPassword,
  type PasswordPolicySettings,
  readPasswordPolicy,
} from './methods/password/password-rules.ts'
import { findTotp, totpRemoval } from './methods/totp/totp-store.ts'
import { superRealm } from './realms/realm.ts'
import { findRealm } from './realms/realm-store.ts'
import { type Recovery, recoveryInsertion } from './recovery-store.ts'
import { announceCredential } from './revocations/feed-store.ts'
import { passwordSessionsEnd } from './sessions/session-end-store.ts'

export interface AdminRecovery {
  readonly db: Database
  /** The seal with the root key of the home. */
  readonly seal: Seal
  readonly config: PasswordPolicySettings
  /** Unix milliseconds. */
  readonly now: number
  /** Of the administrator. */
  readonly id: string
  readonly password: string
  readonly changePassword: boolean
  /** Also removes passkeys, which are required like TOTP. */
  readonly removeTotp: boolean
  /** User of the operating system. */
  readonly by: string
}

const attempts = 5

/**
 * Sets a new password for a locked-out administrator without a login, on the machine of the service. The caller has
 * the home and its root key, which give access to everything: a super administrator administers every realm, sets the
 * password of every user, and can thereby use every key at the kms that a password opens. Keys that require approvals
 * still require them. One commit contains the password, the end of sessions and the record for the audit log.
 * @returns whether a second factor remains
 * @throws StartupError that names the obstacle
 */
export async function recoverAdmin(options: AdminRecovery): Promise<{ readonly keepsTotp: boolean }> {
  const { db, seal, now, id, password, changePassword, removeTotp, by } = options
  const admin = await findAdmin(db, id)
  if (admin === undefined) throw new StartupError(`there is no administrator ${id}`)
  const { userpass: username } = admin
  if (username === null) throw new StartupError(`the administrator ${id} has no password (userpass) to set`)
  const problem = initialPasswordProblem(password, username, readPasswordPolicy(options.config))
  if (problem !== undefined) throw new StartupError(`the new password ${problem}`)
  const realm = await findRealm(db, superRealm)
  if (realm?.auth_params.username_password_params === undefined)
    throw new StartupError(
      `the realm ${superRealm} does not accept passwords (username_password_params is not set)`,
    )
  const hash = createPasswordHasher(1, options.config.fips).hash
  const passwordHash = await hash(normalPassword(password), { client: 'recovery', tenant: superRealm })
  const hasTotp = (await findTotp(db, superRealm, username)) !== undefined
  const hasPasskeys = (await listPasskeys(db, superRealm, username)).length > 0
  const hasSecond = hasTotp || hasPasskeys
  const recovery: Recovery = {
    ...{ id: randomUUID(), at: now, by, admin: id, realm: superRealm, username },
    totp_removed: removeTotp && hasSecond,
  }
  const end = { at: Math.floor(now / 1000), reason: 'password_changed' } as const
  await retryOnGuard(attempts, async () => {
    const before = await findCredential(db, superRealm, username)
    const credential = { passwordHash, changePassword }
    await db.commit([
      before === undefined
        ? credentialInsertion({
            ...{ realm: superRealm, username, roles: [], extraClaims: undefined },
            ...credential,
          })
        : credentialUpdate({ ...before, ...credential }),
      ...announceCredential(db, superRealm, username, end.at),
      ...passwordSessionsEnd(db, superRealm, username, end),
      ...(removeTotp
        ? [
            totpRemoval(superRealm, username),
            passkeysRemoval(superRealm, username),
            uselessCodesRemoval(superRealm, username),
          ]
        : []),
      recoveryInsertion(seal, recovery),
    ])
  })
  return { keepsTotp: hasSecond && !removeTotp }
}
