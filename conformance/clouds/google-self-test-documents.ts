import { randomBytes } from 'node:crypto'
import type { SelfTest } from './google-self-test-context.ts'
import type { SelfTestSettings } from './google-self-test-installation.ts'

type Claims = Readonly<Record<string, unknown>>

/** Tests documents of Drive and a meeting of Meet: users, guests, administrators. */
export async function testDocuments(selfTest: SelfTest, { guests }: SelfTestSettings): Promise<void> {
  const { ask, providers, exchange, user, administrator, authentication, authorization, kaclsUrl } = selfTest
  const { expect } = exchange
  const key = randomBytes(32).toString('base64')
  const resource_name = 'rehearsal/document'
  const reason = "{client:'drive' op:'update'}"
  const buildUserRequest = (role: string, more: Claims = {}) => ({
    authentication: authentication(user),
    authorization: authorization('drive', { resource_name, role, ...more }),
    reason,
  })
  expect('status', await ask('status'), 200, ['server_type', 'KACLS'])
  const wrapped = await ask('wrap', { ...buildUserRequest('writer'), key })
  expect('wrap, for a writer of Drive', wrapped, 200)
  const { wrapped_key } = wrapped.json
  expect('unwrap, for a reader', await ask('unwrap', { ...buildUserRequest('reader'), wrapped_key }), 200, [
    'key',
    key,
  ])
  const untrusted = providers.token('untrusted', { aud: 'rehearsal', email: user })
  const unknown = { ...buildUserRequest('reader'), authentication: untrusted, wrapped_key }
  expect('an identity provider that is not in the settings is refused', await ask('unwrap', unknown), 401)
  const guest = {
    ...buildUserRequest('reader', { email: 'guest@rehearsal.invalid', email_type: 'customer-idp' }),
    authentication: providers.token('guests', { aud: 'rehearsal', email: 'guest@rehearsal.invalid' }),
    wrapped_key,
  }
  expect(
    guests ? 'unwrap, for a guest' : 'guests are refused',
    await ask('unwrap', guest),
    guests ? 200 : 401,
  )

  const asked = { authentication: authentication(administrator), resource_name, reason: 'import' }
  const imported = await ask('privilegedwrap', { ...asked, key })
  expect('privilegedwrap, for an administrator', imported, 200)
  const own = await ask('unwrap', { ...buildUserRequest('reader'), wrapped_key: imported.json.wrapped_key })
  expect('unwrap of an imported key', own, 200, ['key', key])
  const takeout = await ask('privilegedunwrap', { ...asked, reason: 'takeout', wrapped_key })
  expect('privilegedunwrap, for an administrator', takeout, 200, ['key', key])
  const byUser = { ...asked, authentication: authentication(user), wrapped_key }
  expect('privilegedunwrap by a user is refused', await ask('privilegedunwrap', byUser), 403)

  const meeting = { resource_name: 'rehearsal/meeting', delegated_to: 'room@rehearsal.invalid' }
  const signMeetingToken = (role: string) => authorization('meet', { ...meeting, role })
  const given = await ask('delegate', {
    authentication: authentication(user),
    authorization: signMeetingToken('writer'),
    reason: "{client:'meet' op:'delegate_access'}",
  })
  expect('delegate, for a user of Meet', given, 200)
  const delegated = { authentication: given.json.delegated_authentication, reason }
  const call = await ask('wrap', { ...delegated, authorization: signMeetingToken('writer'), key })
  expect('wrap with a delegated token', call, 200)
  const { wrapped_key: ofCall } = call.json
  const heard = await ask('unwrap', {
    ...delegated,
    authorization: signMeetingToken('reader'),
    wrapped_key: ofCall,
  })
  expect('unwrap with a delegated token', heard, 200, ['key', key])
  const elsewhere = { ...buildUserRequest('reader', { kacls_url: `${kaclsUrl}x` }), wrapped_key }
  expect("Google's token for another key service is refused", await ask('unwrap', elsewhere), 401)
}
