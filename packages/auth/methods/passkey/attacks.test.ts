import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { StartupError } from '@warder/base'
import { basicConstraints, issueCertificate, nameFromText } from '@warder/pki'
import { loadConfig } from '@warder/runtime/settings'
import { authSettings } from '../../settings.ts'
import type { TestService } from '../../testing/start.ts'
import { type PasskeySettings, readPasskeyPolicy } from './relying-party.ts'
import {
  challengeHeader,
  newAuthenticator,
  realmWithPasskeys,
  startPasskeys,
} from './testing/passkey-scene.ts'

/** The reason of the last refused request, in the audit log. */
const lastReason = ({ events }: TestService): string | undefined =>
  events.findLast(({ outcome }) => outcome === 'failure')?.reason

describe('a login with a passkey is refused', () => {
  it('when the challenge was used, has expired, or belongs to another browser, realm or ceremony', async () => {
    await using test = await startPasskeys()
    const { auth, as, realm, user, logIn, register } = test
    await realm('s', realmWithPasskeys)
    await user('s', 'ann')
    const authenticator = newAuthenticator()
    const cookie = await logIn('r', 'ann')
    await register(cookie, authenticator)
    const ask = (realmId = 'r') => auth.call('POST', `/passkeys/login/options?realm=${realmId}`)
    const send = (credential: object, headers: { readonly cookie: string } | undefined, realmId = 'r') =>
      auth.call('POST', `/passkeys/login?realm=${realmId}`, {
        json: { credential },
        ...(headers && { headers }),
      })
    const [own, other, elsewhere] = [await ask(), await ask(), await ask('s')]
    const credential = authenticator.get(own.json)
    const refused = async (answer: { readonly status: number }, reason = 'passkey_challenge') =>
      assert.deepEqual([answer.status, lastReason(auth)], [401, reason])
    await refused(await send(credential, undefined))
    await refused(await send(credential, challengeHeader(other)))
    await refused(await send(credential, challengeHeader(elsewhere)))
    await refused(await send(credential, challengeHeader(own), 's'))
    await refused(await send(credential, challengeHeader(elsewhere), 's'), 'passkey_unknown')
    await refused(await send(credential, { cookie: '_ea_passkey=AAAA' }))
    const twice = `${challengeHeader(own).cookie}; ${challengeHeader(other).cookie}`
    await refused(await send(credential, { cookie: twice }))
    const registration = await as(cookie, 'POST', '/account/passkeys/options')
    const forRegistration = { ...registration.json, rpId: 'localhost', allowCredentials: [] }
    await refused(await send(authenticator.get(forRegistration), challengeHeader(registration)))
    const second = await auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse' })
    await refused(await send(authenticator.get(second.json.passkey_options), challengeHeader(second)))

    assert.equal((await send(credential, challengeHeader(own))).status, 200)
    await refused(await send(credential, challengeHeader(own)), 'passkey_counter')
    const synchronized = newAuthenticator({ counts: false })
    await register(cookie, synchronized)
    const once = await ask()
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => send(synchronized.get(once.json), challengeHeader(once))),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(401)])
    const late = await ask()
    auth.clock.advance(300)
    await refused(await send(authenticator.get(late.json), challengeHeader(late)))
  })

  it('with another origin, RP ID, type or user, without user verification, and with changed data', async () => {
    await using test = await startPasskeys()
    const { auth, user, logIn, register, logInWith } = test
    await user('r', 'ben')
    const [authenticator, foreign] = [newAuthenticator(), newAuthenticator()]
    await register(await logIn('r', 'ann'), authenticator)
    const ofBen = (await register(await logIn('r', 'ben'), foreign)).json.id
    const { userHandle } = foreign.get({ challenge: 'x', rpId: 'localhost', allowCredentials: [] }).response
    const flip = (at: number) => (data: Buffer) => {
      const changed = Buffer.from(data)
      changed[at] = (changed[at] ?? 0) ^ 0x10
      return changed
    }
    const attacks = [
      [{ origin: 'https://localhost:8443' }, 'origin'],
      [{ origin: 'http://localhost' }, 'origin'],
      [{ origin: 'https://localhost.evil.example' }, 'origin'],
      [{ crossOrigin: true }, 'origin'],
      [{ rpId: 'evil.example' }, 'rp_id'],
      [{ verified: false }, 'user_verification'],
      [{ type: 'webauthn.create' }, 'malformed'],
      [{ challenge: 'AAAA' }, 'challenge'],
      [{ userHandle }, 'unknown'],
      [{ userHandle: '' }, 'unknown'],
      [{ counter: 4_000_000_000, tamper: flip(36) }, 'signature'],
      [{ tamper: flip(32) }, 'malformed'],
      [{ tamper: (data: Buffer) => data.subarray(0, 36) }, 'malformed'],
    ] as const
    for (const [deviations, problem] of attacks) {
      const answer = await logInWith(authenticator, deviations)
      assert.deepEqual(
        [answer.status, lastReason(auth)],
        [401, `passkey_${problem}`],
        JSON.stringify(deviations),
      )
      assert.equal(answer.headers['set-cookie'], undefined)
    }
    assert.equal((await logInWith(authenticator)).status, 200)
    // The passkey of one user is sent as the second factor of another.
    const asked = await auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse' })
    const passkey = foreign.get(asked.json.passkey_options, { credentialId: ofBen })
    const call = { basic: 'ann:correct horse', json: { passkey }, headers: challengeHeader(asked) }
    assert.equal((await auth.call('POST', '/login?realm=r', call)).status, 401)
    assert.equal(lastReason(auth), 'passkey_unknown')
  })

  it('when the counter goes back, which the user and the administrators see', async () => {
    await using test = await startPasskeys()
    const { auth, as, asSuper, logIn, register, logInWith } = test
    const authenticator = newAuthenticator()
    const cookie = await logIn('r', 'ann')
    await register(cookie, authenticator)
    assert.equal((await logInWith(authenticator, { counter: 50 })).status, 200)
    const flags = async () =>
      (await as(cookie, 'GET', '/account/passkeys')).json.passkeys[0].counter_regressed_at
    const forged = (data: Buffer) => Buffer.concat([data.subarray(0, 33), Buffer.alloc(4, 0)])
    assert.equal((await logInWith(authenticator, { counter: 60, tamper: forged })).status, 401)
    assert.equal(await flags(), null, 'only the authenticator can report it')
    for (const counter of [49, 50, 0]) {
      const answer = await logInWith(authenticator, { counter })
      assert.deepEqual([answer.status, lastReason(auth)], [401, 'passkey_counter'])
    }
    assert.equal(await flags(), auth.services.now())
    const { passkeys } = (await asSuper('GET', '/realms/r/passkeys/ann')).json
    assert.equal(passkeys[0].counter_regressed_at, auth.services.now())
    assert.equal((await logInWith(authenticator, { counter: 51 })).status, 200)
  })

  it('in the same words for every realm and user, whether they exist or not', async () => {
    await using test = await startPasskeys()
    const { auth, realm, logIn, register } = test
    await realm('plain')
    const authenticator = newAuthenticator()
    await register(await logIn('r', 'ann'), authenticator)
    const replies = new Set<string>()
    for (const name of ['r', 'plain', 'nowhere']) {
      const options = await auth.call('POST', `/passkeys/login/options?realm=${name}`)
      assert.deepEqual(
        { ...options.json, challenge: '' },
        {
          ...{ challenge: '', rpId: 'localhost', timeout: 300_000, userVerification: 'required' },
          allowCredentials: [],
        },
      )
      const json = { credential: authenticator.get(options.json, { verified: false }) }
      const headers = challengeHeader(options)
      const { status, text } = await auth.call('POST', `/passkeys/login?realm=${name}`, { json, headers })
      replies.add(`${status} ${text}`)
    }
    assert.equal(replies.size, 1)
  })

  it('beyond the rate of logins of an address', async () => {
    await using test = await startPasskeys({
      config: { login_rate_limit_burst: 3, login_rate_limit_per_second: 1 },
    })
    const ask = () => test.auth.call('POST', '/passkeys/login/options?realm=r')
    const answers = await Promise.all(Array.from({ length: 6 }, ask))
    assert.ok(answers.some(({ status }) => status === 429))
  })
})

describe('a registration is refused', () => {
  it('with a credential ID of another user, or for a session, user or realm of others', async () => {
    await using test = await startPasskeys()
    const { auth, as, user, logIn, register, logInWith } = test
    await user('r', 'ben')
    const [ann, again, ben] = [await logIn('r', 'ann'), await logIn('r', 'ann'), await logIn('r', 'ben')]
    const authenticator = newAuthenticator()
    const { id } = (await register(ann, authenticator)).json
    for (const cookie of [ann, ben]) {
      const answer = await register(cookie, newAuthenticator(), { id })
      assert.deepEqual([answer.status, answer.json.error], [409, 'conflict'])
    }
    assert.equal((await logInWith(authenticator)).status, 200, 'the first one still works')
    // The options belong to one session and the response to another, so an attacker cannot add a passkey to the session
    // of a victim.
    const options = await as(ann, 'POST', '/account/passkeys/options')
    const json = { name: 'x', credential: newAuthenticator().create(options.json) }
    for (const cookie of [ben, again]) {
      const headers = challengeHeader(options, cookie)
      const answer = await auth.call('POST', '/account/passkeys', { json, headers })
      assert.deepEqual([answer.status, lastReason(auth)], [400, 'passkey_challenge'])
    }
    const own = await auth.call('POST', '/account/passkeys', { json, headers: challengeHeader(options, ann) })
    assert.equal(own.status, 201)
    const other = { name: 'y', credential: newAuthenticator().create(options.json) }
    const twice = await auth.call('POST', '/account/passkeys', {
      ...{ json: other, headers: challengeHeader(options, ann) },
    })
    assert.deepEqual([twice.status, lastReason(auth)], [400, 'passkey_challenge'])
    assert.equal((await as(ben, 'PUT', `/account/passkeys/${id}`, { name: 'mine' })).status, 404)
    assert.equal((await as(ben, 'DELETE', `/account/passkeys/${id}`)).status, 204)
    assert.equal((await logInWith(authenticator)).status, 200, 'other users cannot delete it')
  })

  it('with another origin or RP ID, without user verification, and with a weak key', async () => {
    await using test = await startPasskeys()
    const { auth, logIn, register } = test
    const cookie = await logIn('r', 'ann')
    const attacks = [
      [newAuthenticator(), { origin: 'https://evil.example' }, 'origin'],
      [newAuthenticator(), { crossOrigin: true }, 'origin'],
      [newAuthenticator(), { rpId: 'evil.example' }, 'rp_id'],
      [newAuthenticator(), { verified: false }, 'user_verification'],
      [newAuthenticator(), { type: 'webauthn.get' }, 'malformed'],
      [newAuthenticator({ algorithm: -257, modulusBits: 1024 }), {}, 'algorithm'],
    ] as const
    for (const [authenticator, deviations, problem] of attacks) {
      const answer = await register(cookie, authenticator, deviations)
      assert.deepEqual([answer.status, lastReason(auth)], [400, `passkey_${problem}`])
    }
    for (const name of ['', 'a\nb', 'x'.repeat(65)])
      assert.equal((await register(cookie, newAuthenticator(), { name })).status, 400)
  })

  it('beyond twenty passkeys, also when they arrive at once', async () => {
    await using test = await startPasskeys()
    const { as, logIn, register } = test
    const cookie = await logIn('r', 'ann')
    const registerOne = () => register(cookie, newAuthenticator())
    for (let count = 0; count < 18; count++) assert.equal((await registerOne()).status, 201)
    const answers = await Promise.all([1, 2, 3, 4, 5].map(registerOne))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 201, 409, 409, 409])
    assert.equal((await as(cookie, 'GET', '/account/passkeys')).json.passkeys.length, 20)
  })

  it('of every authenticator but permitted models with a certificate, where attestation is required', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'warder-passkeys-'))
    const manufacturer = await newManufacturer()
    writeFileSync(join(folder, 'ca.pem'), manufacturer.pem)
    const aaguid = '11111111-2222-4333-8444-555555555555'
    await using test = await startPasskeys({
      config: {
        passkey_attestation: 'direct',
        passkey_aaguids: [aaguid.toUpperCase()],
        passkey_attestation_ca_files: [join(folder, 'ca.pem')],
      },
    })
    const { auth, as, logIn, register, logInWith } = test
    const cookie = await logIn('r', 'ann')
    const options = await as(cookie, 'POST', '/account/passkeys/options')
    assert.equal(options.json.attestation, 'direct')
    const attested = { attestation: await manufacturer.attest() }
    const untrusted = { attestation: await (await newManufacturer()).attest() }
    for (const refused of [
      { aaguid },
      { aaguid, attestation: 'self' as const },
      { aaguid, ...untrusted },
      { aaguid: '11111111-2222-4333-8444-555555555556', ...attested },
    ]) {
      const answer = await register(cookie, newAuthenticator(refused))
      assert.deepEqual([answer.status, lastReason(auth)], [400, 'passkey_attestation'])
    }
    const authenticator = newAuthenticator({ aaguid, ...attested })
    const made = await register(cookie, authenticator)
    assert.deepEqual([made.status, made.json.aaguid], [201, aaguid], made.text)
    assert.equal((await logInWith(authenticator)).status, 200)
    rmSync(folder, { recursive: true })
  })

  it('with a certificate that was not asked for', async () => {
    await using test = await startPasskeys()
    const { auth, logIn, register } = test
    const attestation = await (await newManufacturer()).attest()
    const answer = await register(await logIn('r', 'ann'), newAuthenticator({ attestation }))
    assert.deepEqual([answer.status, lastReason(auth)], [400, 'passkey_attestation'])
  })
})

/** A manufacturer of authenticators with an authority of its own. */
async function newManufacturer() {
  const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const authority = pair()
  const spki = authority.publicKey.export({ format: 'der', type: 'spki' })
  const name = nameFromText('CN=Test manufacturer,O=Test,C=DE')
  const issuer = { name, key: authority.privateKey, spki, keyIdentifier: undefined }
  const [notBefore, notAfter] = [Date.now() - 86_400_000, Date.now() + 86_400_000]
  const extensions = [basicConstraints(true)]
  const ca = await issueCertificate({ subject: name, spki, notBefore, notAfter, extensions }, issuer)
  return {
    pem: `-----BEGIN CERTIFICATE-----\n${ca.toString('base64')}\n-----END CERTIFICATE-----\n`,
    async attest() {
      const { publicKey, privateKey: key } = pair()
      const leaf = {
        subject: nameFromText('CN=Model 1,OU=Authenticator Attestation,O=Test,C=DE'),
        spki: publicKey.export({ format: 'der', type: 'spki' }),
        extensions: [basicConstraints(false)],
        ...{ notBefore, notAfter },
      }
      return { chain: [await issueCertificate(leaf, issuer)], key }
    },
  }
}

describe('the relying party', () => {
  const unset: PasskeySettings = {
    ...{ issuer: undefined, passkey_rp_id: undefined, passkey_origins: [] },
    passkey_attestation: 'none',
    ...{ passkey_aaguids: [], passkey_attestation_ca_files: [] },
  }
  const read = (settings: Partial<PasskeySettings>, baseUrl = 'https://127.0.0.1:8443') =>
    readPasskeyPolicy({ ...unset, ...settings }, '/nowhere', baseUrl)

  it('is that of the public address, and never an IP address', () => {
    const issuer = 'https://login.example.com/auth'
    for (const [settings, baseUrl, expected] of [
      [{}, 'https://127.0.0.1:8443', { id: 'localhost', origins: ['https://localhost:8443'] }],
      [{}, 'https://[::1]:8443', { id: 'localhost', origins: ['https://localhost:8443'] }],
      [{}, 'https://auth.example.com:443', { id: 'auth.example.com', origins: ['https://auth.example.com'] }],
      [{}, 'https://10.0.0.1:8443', undefined],
      [
        { issuer },
        'https://10.0.0.1:8443',
        { id: 'login.example.com', origins: ['https://login.example.com'] },
      ],
      [
        { issuer, passkey_rp_id: 'example.com' },
        '',
        { id: 'example.com', origins: ['https://login.example.com'] },
      ],
      [
        { passkey_rp_id: 'example.com', passkey_origins: ['https://a.example.com', 'https://example.com:1'] },
        'https://10.0.0.1:8443',
        { id: 'example.com', origins: ['https://a.example.com', 'https://example.com:1'] },
      ],
    ] as const)
      assert.deepEqual(read(settings, baseUrl || undefined).relyingParty, expected)
  })

  it('refuses settings that contradict each other', () => {
    for (const [settings, says] of [
      [{ passkey_rp_id: 'example.com' }, /set passkey_origins/],
      [
        { passkey_rp_id: 'example.com', passkey_origins: ['https://badexample.com'] },
        /badexample\.com is not/,
      ],
      [{ passkey_attestation: 'direct' }, /requires passkey_aaguids/],
      [{ passkey_aaguids: ['x'] }, /require passkey_attestation = "direct"/],
      [
        { passkey_attestation: 'direct', passkey_aaguids: ['x'], passkey_attestation_ca_files: ['none.pem'] },
        /cannot read \/nowhere\/none\.pem/,
      ],
    ] as const)
      assert.throws(
        () => read(settings),
        (error) => error instanceof StartupError && says.test(error.message),
      )
    assert.throws(() => read({ passkey_origins: ['https://a.example'] }, 'https://10.0.0.1'), /passkey_rp_id/)
  })

  it('refuses values that cannot be meant', () => {
    const load = (env: Record<string, string>) =>
      loadConfig({ service: 'auth', table: authSettings, file: '/nowhere/auth.toml', env, args: [] })
    for (const [name, value] of [
      ['AUTH_PASSKEY_RP_ID', 'https://example.com'],
      ['AUTH_PASSKEY_RP_ID', 'Example.com'],
      ['AUTH_PASSKEY_RP_ID', '10.0.0.1'],
      ['AUTH_PASSKEY_ORIGINS', 'http://example.com'],
      ['AUTH_PASSKEY_ORIGINS', 'https://example.com/'],
      ['AUTH_PASSKEY_ATTESTATION', 'indirect'],
      ['AUTH_PASSKEY_AAGUIDS', '1234'],
    ] as const)
      assert.throws(() => load({ [name]: value }), StartupError, `${name} ${value}`)
    const { values } = load({ AUTH_PASSKEY_ORIGINS: 'https://a.example,https://b.example:8443' })
    assert.deepEqual(values.passkey_origins, ['https://a.example', 'https://b.example:8443'])
  })
})
