import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeWriteError, StartupError, unixSeconds } from '@warder/base'
import type { ServiceEnvironment } from '@warder/runtime'
import { UniqueViolation } from '@warder/storage'
import { adminInsertion } from './admins/admin-store.ts'
import { credentialInsertion } from './methods/password/credential-store.ts'
import { createPasswordHasher, type PasswordHasher } from './methods/password/password-hash.ts'
import {
  initialPasswordProblem,
  normalPassword,
  type PasswordPolicySettings,
  readPasswordPolicy,
} from './methods/password/password-rules.ts'
import { superRealm } from './realms/realm.ts'
import { findRealm, realmInsertion } from './realms/realm-store.ts'
import type { AuthConfig } from './settings.ts'
import { ensureSigningKey } from './signing/signing-keys.ts'
import { ensureThrottleKey } from './throttle-store.ts'

const firstAdmin = 'admin'
const oneHour = 3600
const oneYear = 365 * 86_400

/**
 * Initializes an empty database: the signing keys and, in one commit, the realm `_` with its first super admin. Runs
 * at every start and does nothing when they exist. The password is that of `WARDER_ADMIN_PASSWORD`, or a random one
 * that is written to `initial-admin-password` in the home folder (0600) before the commit.
 * @param hash computes the stored form of the password
 * @returns lines to show once
 * @throws StartupError
 */
export async function bootstrap(
  environment: ServiceEnvironment<AuthConfig>,
  givenPassword: string | undefined = process.env.WARDER_ADMIN_PASSWORD,
  hash: PasswordHasher['hash'] = createPasswordHasher(
    1,
    (environment.config as PasswordPolicySettings).fips,
  ).hash,
): Promise<readonly string[]> {
  const { db, seal, clock, home } = environment
  const now = unixSeconds(clock)
  await ensureSigningKey(db, seal, 'session', now)
  await ensureSigningKey(db, seal, 'certificate', now)
  await ensureThrottleKey(db, seal, now)
  if ((await findRealm(db, superRealm)) !== undefined) return []
  const given = requireFirstPassword(givenPassword, environment.config)
  const password = given ?? randomBytes(18).toString('base64url')
  const passwordHash = await hash(normalPassword(password), { client: 'bootstrap', tenant: superRealm })
  const file = join(home, 'initial-admin-password')
  if (given === undefined) writePassword(file, password)
  try {
    await db.commit([
      realmInsertion({
        id: superRealm,
        auth_params: { username_password_params: { allow_expired_passwords: true } },
        session_max_age_seconds: oneHour,
        session_max_stale_age_seconds: oneHour,
        certificate_max_age_seconds: oneYear,
      }),
      credentialInsertion({
        realm: superRealm,
        username: firstAdmin,
        passwordHash,
        changePassword: false,
        roles: [],
        extraClaims: undefined,
      }),
      ...adminInsertion({
        id: firstAdmin,
        realms: [superRealm],
        userpass: firstAdmin,
        jwt: null,
        fido2: null,
        digital_credentials: null,
        client_certificate: null,
        saml: null,
      }),
    ])
  } catch (error) {
    // Another node initialized the database at the same moment: its password is the valid one.
    if (error instanceof UniqueViolation) return []
    throw error
  }
  const made = `The realm ${superRealm} has its first administrator: ${firstAdmin}`
  if (given !== undefined) return [`${made}, with the password of WARDER_ADMIN_PASSWORD.`]
  return [`${made}. Its password is in ${file}: change it, then delete the file.`]
}

/**
 * Reads the first administrator's password from the environment.
 * @returns undefined when it is not set: a random one is generated
 * @throws StartupError when `admin_password_policy` refuses it
 */
export function requireFirstPassword(
  givenPassword: string | undefined,
  config: PasswordPolicySettings,
): string | undefined {
  if (givenPassword === undefined || givenPassword === '') return undefined
  const problem = initialPasswordProblem(givenPassword, firstAdmin, readPasswordPolicy(config))
  if (problem !== undefined) throw new StartupError(`WARDER_ADMIN_PASSWORD: ${problem}`)
  return givenPassword
}

/**
 * Flushes the file to disk before the commit: otherwise a crash could leave an installation without a known password.
 */
function writePassword(file: string, password: string): void {
  try {
    const handle = openSync(file, 'w', 0o600)
    writeFileSync(handle, `${password}\n`)
    fsyncSync(handle)
    closeSync(handle)
  } catch (error) {
    throw new StartupError(`cannot write ${file}: ${describeWriteError(error, file)}`)
  }
}
