import { failure } from '@warder/base'
import { defineOperation, type Operation, type OperationContext, post } from '@warder/server'
import { GuardFailed } from '@warder/storage'
import Type from 'typebox'
import { anyCaller } from '../../callers.ts'
import { countSessions } from '../../counting.ts'
import {
  credentialChanged,
  type LoginMethod,
  LoginRefused,
  type MethodFacts,
  proveSecond,
  readAnswers,
  readCredential,
  type SecondAnswers,
  secondMembers,
} from '../../login/method.ts'
import { auditRefusal, forgetFailures, takeLogin, throttleLogin } from '../../login/throttle-login.ts'
import { RealmQuery } from '../../realms/realm.ts'
import { findRealm } from '../../realms/realm-store.ts'
import { countEndedSessions, passwordSessionsEnd } from '../../sessions/session-end-store.ts'
import { credentialUnchanged, credentialUpdate, findCredential } from './credential-store.ts'
import { credentialOperations } from './operations.ts'
import { hashOwner } from './password-hash.ts'
import { checkChosenPassword, checkStrength, normalPassword } from './password-rules.ts'
import { type PasswordServices, passwordProof, passwordSettings, provePassword } from './prove.ts'

const define = defineOperation<PasswordServices>()

/**
 * Changes the password of the caller, who sends the old one (and a second factor, if enrolled). Ends every session that
 * began with the old password.
 * @throws failure('unauthorized' | 'bad_request' | 'rate_limited' | 'overloaded')
 */
async function changePassword(
  context: OperationContext<PasswordServices>,
  methods: readonly MethodFacts[],
  given: { readonly realm: string; readonly chosen: string; readonly answers: SecondAnswers },
): Promise<void> {
  const { realm, chosen, answers } = given
  takeLogin(context)
  const credential = readCredential(context.request)
  if (credential.kind !== 'basic') {
    const reason = credential.kind === 'certificate' ? 'no_credentials' : 'malformed_credentials'
    throw auditRefusal(context, realm, new LoginRefused(reason))
  }
  const { username, password } = credential
  checkChosenPassword(chosen, username)
  if (normalPassword(chosen) === normalPassword(password)) {
    throw failure('bad_request', 'new_password: must differ from the old one.')
  }
  await throttleLogin(context, { realm, username, withCode: Object.keys(answers).length > 0 }, async () => {
    const { db, hasher, now } = context.services
    const owner = hashOwner(context.request, realm)
    const found = await findRealm(db, realm)
    const proven = await provePassword(context.services, found, { username, password, owner })
    await checkStrength(chosen, { username, realm })
    const second = await proveSecond(methods, context, { realm, username }, answers)
    if (second.missing !== undefined) throw second.missing[0]?.createRefusal() ?? credentialChanged()
    const passwordHash = await hasher.hash(normalPassword(chosen), owner)
    const changes = [
      ...second.proofs.map(({ guard }) => guard),
      credentialUpdate({ ...proven.credential, passwordHash, changePassword: false }),
      ...passwordSessionsEnd(db, realm, username, { at: now(), reason: 'password_changed' }),
    ]
    context.audit({ principal: username, auth_method: 'up', realm, object: username })
    try {
      const results = await context.commit(changes)
      countSessions(context.services.metrics, 'revoked', countEndedSessions(results))
    } catch (error) {
      if (!(error instanceof GuardFailed)) throw error
      throw credentialChanged()
    }
  })
  await forgetFailures(context, realm, username)
}

/** @param methods the whole table: users with a second factor enter a code */
const passwordChangeOperation = (methods: readonly MethodFacts[]): Operation<PasswordServices> =>
  define({
    name: 'password.change',
    reach: ['make credential', 'end session'],
    route: post('/password'),
    summary: 'Change the password of the caller',
    description:
      'Requires the old password (`Authorization: Basic`) and, with a second factor, an answer as for the login. Ends all sessions.',
    tag: 'Login',
    access: anyCaller,
    security: ['basic'],
    queryParameters: RealmQuery,
    request: Type.Object({ new_password: Type.String({ maxLength: 8192 }), ...secondMembers(methods) }),
    bodyLimit: 64 * 1024,
    status: 204,
    errors: { 401: 'The credentials are missing or not valid.', 503: 'Too many logins at once.' },
    act({ query, body }, context) {
      const { new_password: chosen } = body as unknown as { readonly new_password: string }
      return changePassword(context, methods, {
        realm: query.realm,
        chosen,
        answers: readAnswers(methods, body),
      })
    },
  })

/** Login with a username and a password that the realm stores. */
export const password: LoginMethod<PasswordServices> = {
  name: 'password',
  scheme: 'up',
  settings: passwordSettings,
  first: passwordProof,
  opens: (_services, realm) => passwordSettings.of(realm) !== undefined,
  async user(db, realm, username) {
    const credential = await findCredential(db, realm.id, username)
    return credential === undefined ? undefined : credentialUnchanged(credential)
  },
  operations: (methods) => [passwordChangeOperation(methods), ...credentialOperations(methods)],
}
