import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { byteString, Tag } from '@warder/kmip-codec'
import { kmipClient, uid } from '@warder/kmip-server/testing'
import { grant } from '@warder/kms/testing'
import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose'
import { generatePair } from '../testing/issuers.ts'
import {
  administrator,
  dataKey,
  type GoogleWorld,
  guestProvider,
  kaclsUrl,
  owner,
  signingKid,
  startGoogle,
  trialKid,
} from './testing/world.ts'

let world: GoogleWorld
before(async () => {
  await generatePair(guestProvider)
  world = await startGoogle()
})
after(() => world[Symbol.asyncDispose]())

const meeting = { resource_name: 'meeting_id', delegated_to: 'Other_Entity_ID@rooms.example.com' }
const now = () => Math.floor(Date.now() / 1000)

async function delegate(claims: JWTPayload = {}, authentication?: string) {
  return world.post('delegate', {
    authentication: authentication ?? (await world.authentication()),
    authorization: await world.authorization({ ...meeting, ...claims }, { application: 'meet' }),
    reason: "{client:'meet' op:'delegate_access'}",
  })
}

async function wrap(authentication: string, claims: JWTPayload = {}) {
  return world.post('wrap', {
    authentication,
    authorization: await world.authorization({ ...meeting, ...claims }, { application: 'meet' }),
    key: dataKey,
  })
}

test('a delegated token wraps and opens for its resource, with an authorization for the same somebody', async () => {
  const { status, json, text } = await delegate()
  assert.equal(status, 200, text)
  assert.deepEqual(Object.keys(json), ['delegated_authentication'])
  const record = world.kms.audit.at(-1)
  assert.equal(record?.operation, 'google_cse.delegate')
  assert.equal(record?.principal, 'google:alice@example.com')
  assert.equal(record?.details?.delegated_to, meeting.delegated_to)
  assert.equal(record?.details?.resource_name, meeting.resource_name)
  assert.equal(record?.details?.reason, "{client:'meet' op:'delegate_access'}")
  const token = json.delegated_authentication
  const { iat, exp, ...claims } = decodeJwt(token)
  assert.deepEqual(claims, { iss: kaclsUrl, aud: 'kacls-delegation', email: 'alice@example.com', ...meeting })
  assert.ok(Number(exp) - Number(iat) <= 900)
  assert.deepEqual(decodeProtectedHeader(token), { alg: 'RS256', typ: 'JWT', kid: signingKid })

  const wrapped = await wrap(token, { delegated_to: meeting.delegated_to.toLowerCase() })
  assert.equal(wrapped.status, 200, wrapped.text)
  assert.equal(world.kms.audit.at(-1)?.details?.acts_through, meeting.delegated_to.toLowerCase())
  const opened = await world.post('unwrap', {
    authentication: token,
    authorization: await world.authorization({ ...meeting, role: 'reader' }, { application: 'meet' }),
    wrapped_key: wrapped.json.wrapped_key,
  })
  assert.deepEqual(opened.json, { key: dataKey })
})

test('a delegated token serves nobody else, nothing else and no other user', async () => {
  const token = (await delegate()).json.delegated_authentication
  const cases: readonly (readonly [string, JWTPayload])[] = [
    ['another resource', { resource_name: 'another_meeting' }],
    ['somebody else', { delegated_to: 'third@rooms.example.com' }],
    ['nobody', { delegated_to: undefined }],
    ['another user', { email: 'bob@example.com' }],
    ['a guest', { email_type: 'google-visitor' }],
  ]
  for (const [name, claims] of cases) assert.equal((await wrap(token, claims)).status, 403, name)
  assert.equal((await delegate({}, token)).status, 403, 'delegated further')
  for (const [operation, members] of [
    ['privilegedunwrap', { resource_name: meeting.resource_name, wrapped_key: 'AAAA' }],
    ['wrapprivatekey', { private_key: 'AAAA' }],
  ] as const)
    assert.equal((await world.post(operation, { authentication: token, ...members })).status, 403, operation)
})

test('an administrator who gave access away stays the only administrator', async () => {
  const email = administrator
  const { json } = await world.post('delegate', {
    authentication: await world.authentication({ email }),
    authorization: await world.authorization({ ...meeting, email }, { application: 'meet' }),
  })
  const authentication = json.delegated_authentication
  const body = { authentication, resource_name: meeting.resource_name, wrapped_key: 'AAAA' }
  assert.equal((await world.post('privilegedunwrap', body)).status, 403)
})

test('access is delegated by whom Google names, to whom Google names, for no longer than the user has it', async () => {
  assert.equal((await delegate({ delegated_to: undefined })).status, 400)
  assert.equal((await delegate({ delegated_to: '' })).status, 401)
  assert.equal((await delegate({ email: 'bob@example.com' })).status, 403)
  assert.equal((await delegate({ kacls_owner_domain: 'evil.example.com' })).status, 401)
  assert.equal((await delegate({ kacls_url: 'https://evil.example.com' })).status, 401)
  const short = await world.authentication({ exp: now() + 30 })
  const { exp } = decodeJwt((await delegate({}, short)).json.delegated_authentication)
  assert.ok(Number(exp) <= now() + 30)
})

test('tokens that this service signs for one purpose are not accepted for another', async () => {
  const own = 'own signing key'
  const sign = (claims: JWTPayload) =>
    world.authentication(
      { iss: kaclsUrl, aud: 'kacls-delegation', ...meeting, ...claims },
      { signer: own, header: { kid: signingKid } },
    )
  assert.equal((await wrap(await sign({}))).status, 200, 'the key is the right one')
  assert.equal((await wrap(await sign({ aud: 'kacls-migration' }))).status, 401)
  assert.equal((await wrap(await sign({ exp: now() - 61 }))).status, 401)
  assert.equal((await wrap(await sign({ delegated_to: undefined }))).status, 401)
  assert.equal((await wrap(await sign({ resource_name: undefined }))).status, 401)
  const foreign = await world.authentication(
    { iss: kaclsUrl, aud: 'kacls-delegation', ...meeting },
    { signer: 'evil', header: { kid: signingKid } },
  )
  assert.equal((await wrap(foreign)).status, 401)
})

test('tokens of a trial open what a trial wrapped, and never what a user did', async () => {
  const resource_name = 'warder-trial/1'
  const base = { iss: `${kaclsUrl}/trial`, aud: 'warder-trial', kacls_url: kaclsUrl, role: 'writer' }
  const options = { signer: 'own trial key', header: { kid: trialKid } }
  const token = (claims: JWTPayload = {}) =>
    world.authentication({ ...base, resource_name, ...claims }, options)
  const both = async (claims: JWTPayload = {}) => ({
    authentication: await token(claims),
    authorization: await token(claims),
  })
  const wrapped = await world.post('wrap', { ...(await both()), key: dataKey })
  assert.equal(wrapped.status, 200, wrapped.text)
  assert.equal(world.kms.audit.at(-1)?.details?.application, 'trial')
  const opened = await world.post('unwrap', { ...(await both()), wrapped_key: wrapped.json.wrapped_key })
  assert.deepEqual(opened.json, { key: dataKey })

  const ofUser = (await world.post('wrap', { ...(await world.tokens()), key: dataKey })).json.wrapped_key
  assert.equal((await world.post('unwrap', { ...(await both()), wrapped_key: ofUser })).status, 400)
  const refused: readonly (readonly [string, JWTPayload])[] = [
    ["a user's resource", { resource_name: 'item123' }],
    ['no resource', { resource_name: undefined }],
    ['another audience', { aud: 'cse-authorization' }],
    ['an hour', { exp: now() + 3600 }],
    ['migration', { role: 'migrator' }],
    ['decryption of mail', { role: 'decrypter' }],
    ['signature of mail', { role: 'signer' }],
  ]
  for (const [name, claims] of refused)
    assert.equal((await world.post('wrap', { ...(await both(claims)), key: dataKey })).status, 401, name)
  const mixed = {
    authentication: await token({ email: 'alice@example.com' }),
    authorization: await world.authorization(),
    wrapped_key: ofUser,
  }
  assert.equal((await world.post('unwrap', mixed)).status, 403, 'a trial does not say who a user is')
  const other = { ...(await both()), authentication: await world.authentication(), key: dataKey }
  assert.equal((await world.post('wrap', other)).status, 403)
  const takeout = { resource_name, wrapped_key: wrapped.json.wrapped_key }
  const asAdministrator = { authentication: await token({ email: administrator }), ...takeout }
  assert.equal((await world.post('privilegedunwrap', asAdministrator)).status, 403)
})

test('without its signing key the service accepts no token of its own', async () => {
  await using mute = await startGoogle({ issuers: world.issuers })
  const token = (await delegate()).json.delegated_authentication
  const body = {
    authentication: token,
    authorization: await mute.authorization(meeting, { application: 'meet' }),
    key: dataKey,
  }
  assert.equal((await mute.post('wrap', body)).status, 200)
  assert.equal((await mute.kms.user(owner).del(`/v1/crypto/keys/${signingKid}`)).status, 204)
  assert.equal((await mute.post('wrap', body)).status, 401)
  assert.ok((await mute.get('certs')).status >= 404)
})

test('no right signs with the signing key of the settings, over no interface', async () => {
  const signer = 'cse-signer'
  await grant(world.kms.user(owner), signingKid, signer, 'sign')
  const claims = { iss: `${kaclsUrl}/trial`, aud: 'warder-trial', role: 'signer' }
  const data = Buffer.from(JSON.stringify(claims)).toString('base64url')
  for (const user of [signer, owner]) {
    const rest = await world.kms.user(user).post('/v1/crypto/sign', { kid: signingKid, alg: 'RS256', data })
    assert.equal(rest.status, 403, user)
    assert.match(rest.text, /external key store/)
    const batch = { operations: [{ op: 'sign', kid: signingKid, alg: 'RS256', data }] }
    const many = await world.kms.user(user).post('/v1/crypto/batch', batch)
    assert.equal(many.json.results[0].status, 403, user)
    const signing = [uid(signingKid), byteString(Tag.Data, Buffer.from(data))]
    await kmipClient(world.kms.user(user)).fails('Sign', signing, 'PermissionDenied')
  }
  // The scope itself signs on.
  assert.equal((await delegate()).status, 200)
})

test('a token of another key than that of trials is of no trial', async () => {
  const claims = { iss: `${kaclsUrl}/trial`, aud: 'warder-trial', kacls_url: kaclsUrl, role: 'writer' }
  const token = await world.authentication(
    { ...claims, resource_name: 'warder-trial/1' },
    { signer: 'own signing key', header: { kid: signingKid } },
  )
  const answer = await world.post('wrap', { authentication: token, authorization: token, key: dataKey })
  assert.equal(answer.status, 401)
})

test('without a key of trials there are none', async () => {
  await using plain = await startGoogle({
    issuers: world.issuers,
    config: { 'google_cse_config.google_cse_trial_key': undefined },
  })
  const claims = { iss: `${kaclsUrl}/trial`, aud: 'warder-trial', kacls_url: kaclsUrl, role: 'writer' }
  const token = await plain.authentication(
    { ...claims, resource_name: 'warder-trial/1' },
    { signer: 'own trial key', header: { kid: trialKid } },
  )
  const answer = await plain.post('wrap', { authentication: token, authorization: token, key: dataKey })
  assert.equal(answer.status, 401)
})
