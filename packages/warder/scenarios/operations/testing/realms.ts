import { createHmac, generateKeyPairSync } from 'node:crypto'
import { Authenticator } from '@warder/auth/testing'
import type { Answer } from '@warder/kms/testing'
import { ok, type Walked, type Walker, walkerOf } from './walked-installation.ts'

/** An issuer of tokens whose key set an address shows. */
export interface TokenIssuer {
  /** Address of the key set. */
  readonly keys: string
  token(claims: Readonly<Record<string, unknown>>): Promise<string>
}

/** Shared by the services of the walk. */
export const peerSecret = 'a-secret-of-both-services-0123456789'
const providerName = 'https://idp.example'
const times = { session_max_age_seconds: 3600, session_max_stale_age_seconds: 600 }

/** Realms, administrators, users, sessions, and the logins of persons but SAML's. */
export async function walkRealms(walked: Walked, issuer: TokenIssuer): Promise<void> {
  const {
    admin: { auth: admin },
    wire,
  } = walked
  const anonymous = walkerOf(wire('auth'))
  for (const path of ['/public/version', '/health', '/.well-known/session-issuers', '/.well-known/jwks.json'])
    await anonymous.get(path)
  await anonymous.get('/.well-known/certificate-jwks.json')
  await anonymous.post('/unseal', { share: 'none' })

  const realm = {
    auth_params: {
      username_password_params: { allow_expired_passwords: false },
      jwt_params: { idp_params: [{ jwt_issuer_uri: providerName, jwks_uri: issuer.keys }] },
      fido2_params: {},
    },
    ...times,
  }
  await admin.post('/notices/test', {})
  await admin.post('/admins/realms', { id: 'staff', ...realm })
  await admin.post('/admins/realms', { id: 'short', auth_params: {}, ...times })
  await admin.get('/admins/realms')
  await admin.get('/admins/realms/staff')
  await admin.put('/admins/realms/staff', realm)

  const users = '/realms/staff/userpass'
  for (const username of ['ann', 'ben', 'leaves'])
    await admin.post(users, { username, password_input: { plaintext: `first words of ${username}` } })
  await admin.get(users)
  await admin.get('/admins/userpass')
  await admin.del('/v1/audit/nodes/retired')
  for (const path of ['records', 'export', 'verify']) await admin.get(`/v1/audit/${path}`)
  await admin.get('/v1/health/details')
  await admin.get('/v1/audit/counts?since=2026-11-01T00:00:00Z&step=day')
  await wire('auth').post('/v1/audit/node', { type: 'verify' })
  await admin.get(`${users}/ann`)
  await admin.put(`${users}/ann`, { roles: ['clerk'] })
  await admin.del(`${users}/leaves`)

  const basic = (name: string, words: string) => ({
    authorization: `Basic ${Buffer.from(`${name}:${words} of ${name}`).toString('base64')}`,
  })
  const changed = { json: { new_password: 'other words of ann' }, headers: basic('ann', 'first words') }
  await anonymous.call('POST', '/password?realm=staff', changed)
  const logIn = async (name: string, words: string, json: object = {}) => {
    const answer = await anonymous.call('POST', '/login?realm=staff', { json, headers: basic(name, words) })
    const cookie = String(answer.headers['set-cookie']).split(';')[0] ?? ''
    return { answer, cookie, walker: walkerOf(wire('auth', { headers: { cookie } })) }
  }
  const { walker: ann, cookie } = await logIn('ann', 'other words')
  const { jti } = (await ann.get('/whoami?realm=staff')).json
  const { publicKey } = generateKeyPairSync('ed25519')
  const verification_key = publicKey.export({ format: 'pem', type: 'spki' })
  await ann.post('/certify?realm=staff', { verification_key })

  await walkPasskeys(walked, ann, cookie)
  await walkFactors(walked, ann)
  await admin
    .post(`${users.replace('/userpass', '')}/totp/generate`, { username: 'ben' })
    .then(async ({ json }) => {
      const secret = json.secret_base32
      const token = computeCode(base32(secret), Math.floor(Date.now() / 30_000))
      await admin.post('/realms/staff/totp/verify', { username: 'ben', token, secret })
    })
  await admin.del('/realms/staff/totp/ben')

  const jwt = await issuer.token({ iss: providerName, sub: 'sue' })
  await ok(
    wire('auth').call('POST', '/login?realm=staff', {
      json: {},
      headers: { authorization: `Bearer ${jwt}` },
    }),
  )
  await admin.get('/realms/staff/jwt-subjects')
  await admin.put('/realms/staff/jwt-subjects/tom', { jwt_issuer_uri: providerName })
  await admin.del('/realms/staff/jwt-subjects/tom')

  await admin.post('/admins', { id: 'second', realms: ['staff'], userpass: 'ann' })
  await admin.get('/admins')
  await admin.get('/admins/second')
  await admin.put('/admins/second', { realms: ['staff'], userpass: 'ben' })
  await admin.put('/admins/second/realms/short')
  await admin.del('/admins/second/realms/short')
  await admin.del('/admins/second')
  await admin.del('/admins/realms/short')

  const clients = [{ username: 'ann', auth_scheme: 'up' }]
  await ann.post('/sessions/realms/staff/clients', clients)
  await ann.get(`/sessions/${jti}`)
  await ann.post(`/sessions/${jti}`, {
    authenticated_clients: clients,
    sessions_action: 'LogoutOtherSessions',
  })
  await admin.get('/sessions/realms/staff')
  await ann.del('/sessions', { session_ids: [jti] })
  await admin.del('/sessions/expired')
  await admin.del('/sessions/realms/staff')
  await admin.get('/realms/staff/persons/ann')
  await admin.del('/realms/staff/persons/nobody')
}

/** Passkeys of Ann, who has a session: registered, used, renamed and deleted. */
async function walkPasskeys(
  { admin: { auth: admin }, installation, wire }: Walked,
  ann: Walker,
  own: string,
): Promise<void> {
  const origin = installation.authUrl.replace(/\/\/[^:]+/, '//localhost')
  const [first, second] = [new Authenticator({ origin }), new Authenticator({ origin })]
  const cookieIn = ({ headers }: Answer) => String(headers['set-cookie']).split(';')[0] ?? ''
  let id = ''
  for (const authenticator of [first, second]) {
    const options = await ann.post('/account/passkeys/options')
    const credential = authenticator.create(options.json)
    const headers = { cookie: `${own}; ${cookieIn(options)}` }
    await ann.call('POST', '/account/passkeys', { json: { name: 'Key', credential }, headers })
    id = credential.id
  }
  await ann.get('/account/passkeys')
  await ann.put(`/account/passkeys/${id}`, { name: 'Other key' })
  await ann.del(`/account/passkeys/${id}`)
  const anonymous = walkerOf(wire('auth'))
  const options = await anonymous.post('/passkeys/login/options?realm=staff')
  const json = { credential: first.get(options.json) }
  const headers = { cookie: cookieIn(options) }
  const login = await anonymous.call('POST', '/passkeys/login?realm=staff', { json, headers })
  await admin.get('/realms/staff/passkeys/ann')
  await walkerOf(wire('auth', { headers: { cookie: cookieIn(login) } })).post('/logout')
  await admin.del('/realms/staff/passkeys/ann')
}

/** The second factors of Ann's account, and the link for another user. */
async function walkFactors({ admin: { auth: admin }, wire }: Walked, ann: Walker): Promise<void> {
  await ann.get('/account')
  await ann.get('/account/sessions')
  await ann.del('/account/sessions')
  const confirm = ({ json: { secret_base32, enrollment } }: Answer) => ({
    ...{ enrollment, code: computeCode(base32(secret_base32), Math.floor(Date.now() / 30_000)) },
  })
  await ann.post('/account/totp', confirm(await ann.post('/account/totp/options')))
  await ann.post('/account/recovery-codes')
  await ann.del('/account/totp')
  const { token } = (await admin.post('/realms/staff/totp/ben/link')).json
  const anonymous = walkerOf(wire('auth'))
  await anonymous.get('/public/realms/staff/logins')
  const service = walkerOf(wire('auth', { headers: { 'x-warder-peer': peerSecret } }))
  const handover = {
    return_to: 'https://kms.example/',
    state: 's'.repeat(16),
    code_challenge: 'c'.repeat(43),
  }
  const { request } = (await service.post('/handover', handover)).json
  await ann.post('/account/handover', { request })
  const program = { ...handover, return_to: 'http://127.0.0.1:4711/' }
  const ofProgram = (await anonymous.post('/handover/program', program)).json.request
  await ann.post('/account/handover', { request: ofProgram })
  const options = await anonymous.post('/totp/enroll/options', { token })
  await anonymous.post('/totp/enroll', { token, ...confirm(options) })
}

/** RFC 6238, six digits by HMAC-SHA-1. */
function computeCode(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const at = (mac.at(-1) ?? 0) & 15
  return String((mac.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** RFC 4648 §6. */
function base32(text: string): Buffer {
  const bits = [...text].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}
