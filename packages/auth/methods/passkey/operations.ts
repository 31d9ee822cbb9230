import { failure } from '@warder/base'
import {
  defineOperation,
  del,
  get,
  type Operation,
  type OperationContext,
  post,
  put,
  rawReply,
} from '@warder/server'
import { type Change, GuardFailed, UniqueViolation } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { anySession, realmAdmin, recentSession, requireSession, type SessionCaller } from '../../callers.ts'
import { countSessions } from '../../counting.ts'
import { type MethodFacts, userChanged } from '../../login/method.ts'
import {
  countRecoveryCodes,
  renewRecoveryCodes,
  uselessCodesRemoval,
} from '../../login/recovery-code-store.ts'
import { ensureSubjectId } from '../../person-store.ts'
import { UserPath } from '../../realms/realm.ts'
import { findRealm, realmOrThrow } from '../../realms/realm-store.ts'
import { announceCredential } from '../../revocations/feed-store.ts'
import { countEndedSessions, passkeySessionsEnd, sessionsEnd } from '../../sessions/session-end-store.ts'
import { listSessionIds } from '../../sessions/session-store.ts'
import { PlainText } from '../../texts.ts'
import { challengeSeconds, issueChallenge, readChallenge, removedChallengeCookie } from './challenge.ts'
import {
  findPasskey,
  listPasskeys,
  maxPasskeys,
  type Passkey,
  passkeyInsertion,
  passkeyRemoval,
  passkeyRenaming,
  passkeysRemoval,
} from './passkey-store.ts'
import { type PasskeyServices, passkeySettings, requireRelyingParty, toUserHandle } from './relying-party.ts'
import { algorithms, CredentialId, PasskeyRefused, RegistrationInput, verifyRegistration } from './verify.ts'

type Context = OperationContext<PasskeyServices>

const define = defineOperation<PasskeyServices>()
const tag = 'Passkeys'
const Name = PlainText({ minLength: 1, maxLength: 64, description: 'Chosen by the user, for their list.' })
const PasskeyPath = Type.Object({ passkey_id: CredentialId })

const PasskeyReply = Type.Object({
  id: Type.String({ description: 'The credential ID, base64url.' }),
  name: Type.String(),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
  last_used_at: Type.Union([Type.Integer(), Type.Null()]),
  backed_up: Type.Boolean({ description: 'Copied to other devices by its provider.' }),
  aaguid: Type.String({
    description: 'Model of the authenticator; proven only with `passkey_attestation = "direct"`.',
  }),
  counter_regressed_at: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Last refused use with a counter that had gone back: a copy of the authenticator may exist.',
  }),
})

function describePasskey(
  passkey: Omit<Passkey, 'lastUsedAt' | 'regressedAt'> & Partial<Pick<Passkey, 'lastUsedAt' | 'regressedAt'>>,
): Static<typeof PasskeyReply> {
  return {
    id: passkey.id,
    name: passkey.name,
    created_at: passkey.createdAt,
    last_used_at: passkey.lastUsedAt ?? null,
    backed_up: passkey.backedUp,
    aaguid: passkey.aaguid,
    counter_regressed_at: passkey.regressedAt ?? null,
  }
}

/** Whether the session is of a user with a password: the same name at an identity provider is another user. */
const isOwner = ({ session: { scheme } }: SessionCaller): boolean => scheme === 'up' || scheme === 'f2'

/**
 * Requires a user with a password. Users whom an identity provider or a certificate vouches for have no passkeys: a
 * passkey would outlive their account there.
 * @returns a guard: the user still exists
 * @throws failure('conflict')
 */
async function requireOwner(context: Context, methods: readonly MethodFacts[]): Promise<Change> {
  const caller = requireSession(context)
  const { realm: id, username } = caller.session
  const { db } = context.services
  const realm = await findRealm(db, id)
  if (realm === undefined || passkeySettings.of(realm) === undefined)
    throw failure('conflict', 'The realm has no passkeys: an administrator sets auth_params.fido2_params.')
  const withPassword = methods.find((method) => method.scheme === 'up')
  const guard = isOwner(caller) ? await withPassword?.user?.(db, realm, username) : undefined
  if (guard !== undefined) return guard
  throw failure('conflict', 'Passkeys are for users with a password: others register them at their provider.')
}

const CreationOptions = Type.Object(
  {
    rp: Type.Object({ id: Type.String(), name: Type.String() }),
    user: Type.Object({ id: Type.String(), name: Type.String(), displayName: Type.String() }),
    challenge: Type.String(),
    pubKeyCredParams: Type.Array(Type.Object({ type: Type.Literal('public-key'), alg: Type.Integer() })),
    timeout: Type.Integer(),
    excludeCredentials: Type.Array(
      Type.Object({
        type: Type.Literal('public-key'),
        id: Type.String(),
        transports: Type.Array(Type.String()),
      }),
    ),
    authenticatorSelection: Type.Object({
      residentKey: Type.Literal('required'),
      requireResidentKey: Type.Literal(true),
      userVerification: Type.Literal('required'),
    }),
    attestation: Type.String(),
  },
  { description: 'PublicKeyCredentialCreationOptionsJSON (WebAuthn Level 3 §5.4).' },
)

const registrationOptions = (methods: readonly MethodFacts[]): Operation<PasskeyServices> =>
  define({
    name: 'passkeys.register_options',
    reach: [],
    route: post('/account/passkeys/options'),
    summary: 'Options for the registration of a passkey of the caller',
    description: 'Sets a cookie that binds the registration to the browser and the session for five minutes.',
    tag,
    access: recentSession,
    reply: CreationOptions,
    errors: {
      404: 'Passkeys are not available: `passkey_rp_id` is not set.',
      409: 'The realm or the user has no passkeys.',
    },
    async act(_input, context) {
      const { services } = context
      const { id: session, realm, username } = requireSession(context).session
      context.audit({ realm, object: username })
      const { id } = requireRelyingParty(services)
      await requireOwner(context, methods)
      const subjectId = await ensureSubjectId(services.db, realm, username, services.now())
      const { challenge, cookie } = issueChallenge(services, { purpose: 'registration', realm, session })
      const json: Static<typeof CreationOptions> = {
        rp: { id, name: 'Warder' },
        user: { id: toUserHandle(subjectId), name: username, displayName: username },
        challenge,
        pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
        timeout: challengeSeconds * 1000,
        excludeCredentials: (await listPasskeys(services.db, realm, username)).map((passkey) => ({
          type: 'public-key',
          id: passkey.id,
          transports: [...passkey.transports],
        })),
        authenticatorSelection: {
          residentKey: 'required',
          requireResidentKey: true,
          userVerification: 'required',
        },
        attestation: services.passkeys.attestation === undefined ? 'none' : 'direct',
      }
      return rawReply({ json, headers: { 'Set-Cookie': cookie } })
    },
  })

/** Reasons of refused registrations, for the user. */
const problemTexts: Partial<Record<PasskeyRefused['problem'], string>> = {
  challenge: 'the challenge has expired, was used, or belongs to another session: request new options',
  origin: 'the page is not one of passkey_origins',
  user_verification: 'the authenticator has not verified the user',
  attestation: 'the authenticator is not of a permitted model (passkey_attestation)',
  algorithm: 'its key is not one of the requested algorithms',
}

const register = (methods: readonly MethodFacts[]): Operation<PasskeyServices> =>
  define({
    name: 'passkeys.register',
    reach: ['make credential'],
    route: post('/account/passkeys'),
    summary: 'Register a passkey of the caller',
    description:
      'Sends the response of the authenticator to the options. From then on a login with the password needs a second factor.',
    tag,
    access: recentSession,
    request: Type.Object({ name: Name, credential: RegistrationInput }),
    bodyLimit: 128 * 1024,
    status: 201,
    reply: Type.Object({
      ...PasskeyReply.properties,
      recovery_codes: Type.Optional(
        Type.Array(Type.String(), {
          description:
            'Codes that replace a lost second factor; only if the user had no unused ones. They are never shown again.',
        }),
      ),
    }),
    errors: {
      404: 'Passkeys are not available: `passkey_rp_id` is not set.',
      409: 'The realm or the user has no passkeys, the passkey is registered, or the user has 20.',
    },
    async act({ body: { name, credential } }, context) {
      const { services } = context
      const { id: session, realm, username } = requireSession(context).session
      context.audit({ realm, object: username, details: { passkey: credential.id, name } })
      const relyingParty = requireRelyingParty(services)
      const owner = await requireOwner(context, methods)
      const subjectId = await ensureSubjectId(services.db, realm, username, services.now())
      const verify = async () => {
        const ceremony = { purpose: 'registration', realm, session } as const
        const { challenge, use } = await readChallenge(services, context.request, ceremony)
        const policy = { ...services.passkeys, relyingParty }
        return { key: await verifyRegistration(policy, challenge, credential, services.now() * 1000), use }
      }
      const { key, use } = await verify().catch((error: unknown) => {
        if (!(error instanceof PasskeyRefused)) throw error
        context.audit({ reason: `passkey_${error.problem}` })
        const why = problemTexts[error.problem] ?? 'the response of the authenticator is not valid'
        throw failure('bad_request', `credential: ${why}.`, { cause: error })
      })
      const passkey = { ...key, realm, username, subjectId, name, createdAt: services.now() }
      // The guard of the user comes first: it locks the row of the user, so concurrent registrations are counted
      // correctly.
      const hasCodes = (await countRecoveryCodes(services.db, realm, username)) > 0
      const { codes, changes } = renewRecoveryCodes(realm, username, services.now())
      await commitRegistration(context, [owner, use, passkeyInsertion(passkey), ...(hasCodes ? [] : changes)])
      return rawReply({
        status: 201,
        json: { ...describePasskey(passkey), ...(!hasCodes && { recovery_codes: codes }) },
        headers: { 'Set-Cookie': removedChallengeCookie },
      })
    },
  })

async function commitRegistration(context: Context, changes: readonly Change[]): Promise<void> {
  try {
    await context.commit(changes)
  } catch (error) {
    // A credential ID of another user is refused, too (WebAuthn Level 3 §7.1 step 26).
    if (error instanceof UniqueViolation) throw failure('conflict', 'This passkey is registered already.')
    if (!(error instanceof GuardFailed)) throw error
    if (error.index === 2)
      throw failure('conflict', `A user has at most ${maxPasskeys} passkeys: delete one first.`)
    if (error.index === 0) throw userChanged()
    context.audit({ reason: 'passkey_challenge' })
    throw failure('bad_request', `credential: ${problemTexts.challenge}.`)
  }
}

const listOwn = define({
  name: 'passkeys.list',
  reach: ['reveal attributes'],
  route: get('/account/passkeys'),
  summary: 'Passkeys of the caller',
  tag,
  access: anySession,
  reply: Type.Object({ passkeys: Type.Array(PasskeyReply) }),
  async act(_input, context) {
    const caller = requireSession(context)
    const { realm, username } = caller.session
    const passkeys = isOwner(caller) ? await listPasskeys(context.services.db, realm, username) : []
    return { passkeys: passkeys.map(describePasskey) }
  },
})

/** Finds a passkey of the caller. */
async function findOwn(context: Context, id: string): Promise<Passkey | undefined> {
  const caller = requireSession(context)
  const { realm, username } = caller.session
  const passkey = isOwner(caller) ? await findPasskey(context.services.db, id) : undefined
  return passkey?.realm === realm && passkey.username === username ? passkey : undefined
}

const noSuchPasskey = () => failure('not_found', 'You have no such passkey.')

const renameOwn = define({
  name: 'passkeys.rename',
  reach: ['change attributes'],
  route: put('/account/passkeys/{passkey_id}'),
  summary: 'Rename a passkey of the caller',
  tag,
  access: anySession,
  pathParameters: PasskeyPath,
  request: Type.Object({ name: Name }),
  reply: PasskeyReply,
  errors: { 404: 'The user has no such passkey.' },
  async act({ path, body: { name } }, context) {
    const { realm, username } = requireSession(context).session
    context.audit({ realm, object: username, details: { passkey: path.passkey_id, name } })
    const passkey = await findOwn(context, path.passkey_id)
    if (passkey === undefined) throw noSuchPasskey()
    try {
      await context.commit([passkeyRenaming(passkey.id, realm, username, name)])
    } catch (error) {
      if (error instanceof GuardFailed) throw noSuchPasskey()
      throw error
    }
    return describePasskey({ ...passkey, name })
  },
})

const deleteOwn = define({
  name: 'passkeys.delete',
  reach: ['end credential', 'end session'],
  route: del('/account/passkeys/{passkey_id}'),
  summary: 'Delete a passkey of the caller',
  description: 'Ends the other sessions that began with a passkey: the deleted one may be lost.',
  tag,
  access: recentSession,
  pathParameters: PasskeyPath,
  status: 204,
  async act({ path }, context) {
    const { db, metrics, now } = context.services
    const { id: own, realm, username } = requireSession(context).session
    context.audit({ realm, object: username, details: { passkey: path.passkey_id } })
    const passkey = await findOwn(context, path.passkey_id)
    if (passkey === undefined) return
    const ids = await listSessionIds(db, { realm, username, scheme: 'f2' }, now())
    const others = ids.filter((id) => id !== own)
    const ends = sessionsEnd(db, others, { at: now(), reason: 'logged_out' })
    await context.commit([
      passkeyRemoval(passkey.id, realm, username),
      uselessCodesRemoval(realm, username),
      ...ends.flat(),
    ])
    countSessions(metrics, 'revoked', others.length)
  },
})

const listOfUser = define({
  name: 'passkeys.list_user',
  reach: ['reveal attributes'],
  route: get('/realms/{realm_id}/passkeys/{username}'),
  summary: 'Passkeys of a user',
  tag,
  access: realmAdmin,
  pathParameters: UserPath,
  reply: Type.Object({ passkeys: Type.Array(PasskeyReply) }),
  errors: { 404: 'There is no such realm.' },
  async act({ path: { realm_id: realm, username } }, { services: { db } }) {
    await realmOrThrow(db, realm)
    return { passkeys: (await listPasskeys(db, realm, username)).map(describePasskey) }
  },
})

const deleteOfUser = define({
  name: 'passkeys.delete_user',
  reach: ['end credential', 'end session'],
  route: del('/realms/{realm_id}/passkeys/{username}'),
  summary: 'Delete the passkeys of a user, who has lost them, and end their sessions',
  tag,
  access: realmAdmin,
  pathParameters: UserPath,
  status: 204,
  async act({ path: { realm_id: realm, username } }, context) {
    const { db, metrics, now } = context.services
    const passkeys = await listPasskeys(db, realm, username)
    context.audit({ realm, object: username, details: { passkeys: passkeys.map(({ id }) => id) } })
    if (passkeys.length === 0) return
    const results = await context.commit([
      passkeysRemoval(realm, username),
      uselessCodesRemoval(realm, username),
      ...announceCredential(db, realm, username, now()),
      ...passkeySessionsEnd(db, realm, username, { at: now(), reason: 'deleted' }),
    ])
    countSessions(metrics, 'revoked', countEndedSessions(results))
  },
})

/** @param methods the whole table: passkeys are for users with a password */
export function passkeyOperations(methods: readonly MethodFacts[]): readonly Operation<PasskeyServices>[] {
  return [
    registrationOptions(methods),
    register(methods),
    listOwn,
    renameOwn,
    deleteOwn,
    listOfUser,
    deleteOfUser,
  ]
}
