import { failure } from '@warder/base'
import { defineOperation, get, type Operation, post } from '@warder/server'
import type { Database } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { anySession, recentSession, requireSecondFactorHere, requireSession } from './callers.ts'
import { countRecoveryCodes, renewRecoveryCodes } from './login/recovery-code-store.ts'
import { listPasskeys } from './methods/passkey/passkey-store.ts'
import { findCredential } from './methods/password/credential-store.ts'
import { findTotp } from './methods/totp/totp-store.ts'
import { findSession } from './sessions/session-store.ts'

/** Services used by operations on one's own account. */
interface AccountServices {
  readonly db: Database
  /** Unix seconds. */
  now(): number
}

const define = defineOperation<AccountServices>()
const tag = 'Account'

/** State of the second factors of a user, for replies; without any secret. */
export const Factors = Type.Object({
  totp: Type.Boolean({ description: 'An authenticator app is enrolled.' }),
  passkeys: Type.Integer({ description: 'Number of passkeys.' }),
  recovery_codes: Type.Integer({ description: 'Number of unused codes.' }),
})

export async function readFactors(
  db: Database,
  realm: string,
  username: string,
): Promise<Static<typeof Factors>> {
  return {
    totp: (await findTotp(db, realm, username)) !== undefined,
    passkeys: (await listPasskeys(db, realm, username)).length,
    recovery_codes: await countRecoveryCodes(db, realm, username),
  }
}

export const accountOperations: readonly Operation<AccountServices>[] = [
  define({
    name: 'account.get',
    reach: ['reveal attributes'],
    route: get('/account'),
    summary: 'Show the caller, the session and the enrolled second factors',
    tag,
    access: anySession,
    reply: Type.Object({
      realm_id: Type.String(),
      username: Type.String(),
      auth_scheme: Type.String(),
      session_id: Type.String(),
      created_at: Type.Integer({ description: 'Begin of the session, in Unix seconds.' }),
      ends_at: Type.Integer({ description: 'End of the session if it is not used before.' }),
      expires_at: Type.Integer({ description: 'Latest end of the session.' }),
      administers: Type.Array(Type.String(), { description: 'Realms; `_` means all of them.' }),
      password: Type.Boolean({ description: 'Registered with a password.' }),
      password_initial: Type.Boolean({
        description: 'The credential is as it was created: its user has not chosen the password.',
      }),
      ...Factors.properties,
    }),
    async act(_input, context) {
      const caller = requireSession(context)
      const { id, realm, username, scheme } = caller.session
      const { db } = context.services
      const session = await findSession(db, id)
      if (session === undefined) throw failure('unauthorized')
      const powers = await caller.powers()
      const credential = await findCredential(db, realm, username)
      return {
        realm_id: realm,
        username,
        auth_scheme: scheme,
        session_id: id,
        created_at: session.createdAt,
        ends_at: session.endsAt,
        expires_at: session.createdAt + session.maxAge,
        administers: powers?.isSuper === true ? ['_'] : [...(powers?.realms ?? [])],
        password: credential !== undefined,
        // Each change of a credential is a new version.
        password_initial: credential?.version === 1,
        ...(await readFactors(db, realm, username)),
      }
    },
  }),
  define({
    name: 'account.renew_codes',
    reach: ['make credential', 'end credential'],
    route: post('/account/recovery-codes'),
    summary: 'Create ten new recovery codes for the caller; earlier ones become invalid',
    description:
      'Each replaces a lost second factor once, as `totp_code` of a login. They are never shown again.',
    tag,
    access: recentSession,
    reply: Type.Object({ recovery_codes: Type.Array(Type.String()) }),
    errors: { 409: 'The user has no second factor.' },
    async act(_input, context) {
      const { realm, username, scheme } = requireSession(context).session
      const { db, now } = context.services
      context.audit({ realm, object: username })
      requireSecondFactorHere(scheme)
      const { totp, passkeys } = await readFactors(db, realm, username)
      if (!totp && passkeys === 0)
        throw failure('conflict', 'Recovery codes replace a second factor: enroll one first.')
      const { codes, changes } = renewRecoveryCodes(realm, username, now())
      await context.commit(changes)
      return { recovery_codes: [...codes] }
    },
  }),
]
