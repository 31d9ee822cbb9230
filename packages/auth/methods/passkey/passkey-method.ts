import { defineOperation, type OperationContext, post, rawReply } from '@warder/server'
import Type, { type Static } from 'typebox'
import { anyCaller } from '../../callers.ts'
import { countLogin } from '../../counting.ts'
import { beginSession, sessionReply } from '../../login/login.ts'
import {
  credentialChanged,
  type LoginMethod,
  LoginRefused,
  methodNotEnabled,
  type Proof,
  type Proven,
  type SecondProof,
  type SecondProofServices,
  unknownRealm,
} from '../../login/method.ts'
import { auditRefusal, takeLogin, throttleLogin } from '../../login/throttle-login.ts'
import { RealmQuery } from '../../realms/realm.ts'
import { findRealm, realmUnchanged } from '../../realms/realm-store.ts'
import { schemeSessionsEnd } from '../../sessions/session-end-store.ts'
import {
  type Ceremony,
  challengeSeconds,
  issueChallenge,
  readChallenge,
  removedChallengeCookie,
} from './challenge.ts'
import { passkeyOperations } from './operations.ts'
import {
  findPasskey,
  listPasskeys,
  type Passkey,
  passkeyRegression,
  passkeysRemoval,
  passkeyUse,
} from './passkey-store.ts'
import {
  type PasskeyServices,
  passkeySettings,
  type RelyingParty,
  requireRelyingParty,
  toUserHandle,
} from './relying-party.ts'
import { type Assertion, AssertionInput, PasskeyRefused, verifyAssertion } from './verify.ts'

const define = defineOperation<PasskeyServices>()

/** A page gets the same answer as for every failed login; the reason is in the audit log. */
const toLoginRefused = ({ problem }: PasskeyRefused) => new LoginRefused(`passkey_${problem}`)
const alreadyUsed = () => new LoginRefused('passkey_challenge')

/**
 * Verifies an assertion for a ceremony of this browser.
 * @param expected whether the passkey belongs to the user who logs in
 * @returns proofs for the commit: the challenge is used once, and the passkey has not changed
 * @throws LoginRefused
 */
async function proveAssertion(
  context: OperationContext<PasskeyServices>,
  ceremony: Ceremony,
  assertion: Assertion,
  expected: (passkey: Passkey) => boolean,
): Promise<{ readonly passkey: Passkey; readonly proofs: readonly Proof[] }> {
  const { services, request } = context
  try {
    const { challenge, use } = await readChallenge(services, request, ceremony)
    const passkey = await findPasskey(services.db, assertion.id)
    if (passkey === undefined || !expected(passkey)) throw new PasskeyRefused('unknown')
    context.audit({ details: { passkey: passkey.id } })
    const used = await verify(services, challenge, passkey, assertion)
    return {
      passkey,
      proofs: [
        { guard: use, createRefusal: alreadyUsed },
        { guard: passkeyUse(passkey, { ...used, at: services.now() }), createRefusal: credentialChanged },
      ],
    }
  } catch (error) {
    throw error instanceof PasskeyRefused ? toLoginRefused(error) : error
  }
}

/**
 * Verifies an assertion, and records a counter that went back, which may be the only sign of a copied authenticator.
 */
async function verify(services: PasskeyServices, challenge: string, passkey: Passkey, assertion: Assertion) {
  try {
    return await verifyAssertion(requireRelyingParty(services), challenge, passkey, assertion)
  } catch (error) {
    if (error instanceof PasskeyRefused && error.problem === 'counter')
      await services.db.commit([passkeyRegression(passkey.id, services.now())])
    throw error
  }
}

/** A login with a discoverable credential and user verification, which is both factors at once. */
async function provePasskey(
  context: OperationContext<PasskeyServices>,
  realmId: string,
  assertion: Assertion,
): Promise<Proven> {
  const realm = await findRealm(context.services.db, realmId)
  if (realm === undefined) throw unknownRealm()
  if (passkeySettings.of(realm) === undefined) throw methodNotEnabled()
  const { userHandle } = assertion.response
  // WebAuthn Level 3 §7.2 step 6: the user handle identifies the user.
  const isOwn = (passkey: Passkey): boolean =>
    passkey.realm === realm.id && userHandle === toUserHandle(passkey.subjectId)
  const ceremony = { purpose: 'login', realm: realm.id } as const
  const { passkey, proofs } = await proveAssertion(context, ceremony, assertion, isOwn)
  return {
    realm,
    // Specification §2: sessions of this scheme have neither roles nor extra claims.
    subject: {
      username: passkey.username,
      scheme: 'f2',
      certificateSha256: undefined,
      roles: [],
      extraClaims: undefined,
    },
    proofs: [{ guard: realmUnchanged(realm), createRefusal: credentialChanged }, ...proofs],
  }
}

const RequestOptions = Type.Object(
  {
    challenge: Type.String(),
    rpId: Type.String(),
    timeout: Type.Integer(),
    userVerification: Type.Literal('required'),
    allowCredentials: Type.Array(
      Type.Object({
        type: Type.Literal('public-key'),
        id: Type.String(),
        transports: Type.Array(Type.String()),
      }),
    ),
  },
  { description: 'PublicKeyCredentialRequestOptionsJSON (WebAuthn Level 3 §5.5).' },
)

/** @param passkeys of the user; empty: discoverable credentials */
function toRequestOptions(
  { id }: RelyingParty,
  challenge: string,
  passkeys: readonly Passkey[],
): Static<typeof RequestOptions> {
  return {
    challenge,
    rpId: id,
    timeout: challengeSeconds * 1000,
    userVerification: 'required',
    allowCredentials: passkeys.map((passkey) => ({
      type: 'public-key',
      id: passkey.id,
      transports: [...passkey.transports],
    })),
  }
}

const loginOptions = define({
  name: 'passkeys.login_options',
  reach: [],
  route: post('/passkeys/login/options'),
  summary: 'Options for a login with a passkey',
  description:
    'Sets a cookie that binds the login to the browser for five minutes. The reply is the same for every realm.',
  tag: 'Passkeys',
  access: anyCaller,
  queryParameters: RealmQuery,
  reply: RequestOptions,
  errors: { 404: 'Passkeys are not available: `passkey_rp_id` is not set.' },
  act({ query: { realm } }, context) {
    takeLogin(context)
    context.audit({ realm, auth_method: 'passkey' })
    const relyingParty = requireRelyingParty(context.services)
    const { challenge, cookie } = issueChallenge(context.services, { purpose: 'login', realm })
    const json = toRequestOptions(relyingParty, challenge, [])
    return rawReply({ json, headers: { 'Set-Cookie': cookie } })
  },
})

const login = define({
  name: 'passkeys.login',
  reach: ['make session'],
  route: post('/passkeys/login'),
  summary: 'Log in to a realm with a passkey',
  description:
    'Sends the response of the authenticator to the options. It is accepted once, from the same browser.',
  tag: 'Passkeys',
  access: anyCaller,
  queryParameters: RealmQuery,
  request: Type.Object({ credential: AssertionInput }),
  bodyLimit: 64 * 1024,
  reply: Type.Object({ next_step: Type.Literal('Authenticated'), session_id: Type.String() }),
  errors: {
    401: 'The response is not valid.',
    404: 'Passkeys are not available: `passkey_rp_id` is not set.',
  },
  act({ query: { realm }, body }, context) {
    context.audit({ realm, auth_method: 'passkey' })
    requireRelyingParty(context.services)
    const run = async () => {
      takeLogin(context)
      const proven = await provePasskey(context, realm, body.credential).catch((error: unknown) => {
        throw error instanceof LoginRefused ? auditRefusal(context, realm, error) : error
      })
      const { username } = proven.subject
      const { session, cookie } = await throttleLogin(context, { realm, username, withCode: false }, () =>
        beginSession(context, proven),
      )
      return sessionReply(session, cookie, removedChallengeCookie)
    }
    return countLogin(context.services.metrics, 'passkey', run, () => 'authenticated')
  },
})

/** A passkey of the user, in place of a code. Required of users who have one, whatever the settings of the realm. */
const passkeyProof: SecondProof = {
  name: 'passkey',
  member: 'passkey',
  schema: Type.Optional(AssertionInput),
  isOnlyForEnrolled: true,
  async find(given, realm, username) {
    const context = given as OperationContext<SecondProofServices & PasskeyServices>
    const { services } = context
    const passkeys = await listPasskeys(services.db, realm, username)
    if (passkeys.length === 0) return undefined
    const ceremony = { purpose: 'second factor', realm, username } as const
    const isOwn = (passkey: Passkey): boolean => passkey.realm === realm && passkey.username === username
    const { relyingParty } = services.passkeys
    return {
      check: async (answer) => (await proveAssertion(context, ceremony, answer as Assertion, isOwn)).proofs,
      ...(relyingParty !== undefined && {
        ask() {
          const { challenge, cookie } = issueChallenge(services, ceremony)
          return { reply: { passkey_options: toRequestOptions(relyingParty, challenge, passkeys) }, cookie }
        },
      }),
    }
  },
  createRefusal: () => new LoginRefused('passkey_unknown', 'code'),
  removal: (realm, username) => [passkeysRemoval(realm, username)],
}

/** Passkeys (WebAuthn Level 3): as the first proof, or as the second factor after another one. */
export const passkey: LoginMethod<PasskeyServices> = {
  name: 'passkey',
  scheme: 'f2',
  settings: passkeySettings,
  second: passkeyProof,
  opens: ({ passkeys }, realm) =>
    passkeys.relyingParty !== undefined && passkeySettings.of(realm) !== undefined,
  endings({ db, now }, before, after) {
    const isClosed = passkeySettings.of(before) !== undefined && passkeySettings.of(after) === undefined
    const end = { at: now(), reason: 'provider_removed' } as const
    return { sessions: isClosed ? [schemeSessionsEnd(db, before.id, 'f2', end)] : [], others: [] }
  },
  operations: (methods) => [loginOptions, login, ...passkeyOperations(methods)],
}
