import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { chromium, openPage } from './testing/chromium.ts'
import { startPasskeys } from './testing/passkey-scene.ts'

/** SHA-256 of the public key of the service's certificate. */
function readServerKey(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      const spki = socket.getPeerX509Certificate()?.publicKey.export({ format: 'der', type: 'spki' })
      socket.destroy()
      resolve(
        createHash('sha256')
          .update(spki ?? '')
          .digest('base64'),
      )
    })
    socket.on('error', reject)
  })
}

/**
 * The script of the page registers a passkey in a session of a password login, then logs in with the passkey alone,
 * then with both.
 */
const script = `(async () => {
  const call = async (method, path, body, headers = {}) => {
    const json = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(path, { method, headers: { 'content-type': 'application/json', ...headers }, ...json })
    const text = await answer.text()
    return { status: answer.status, json: text === '' ? null : JSON.parse(text) }
  }
  const authorization = 'Basic ' + btoa('ann:correct horse')
  const create = async (options) =>
    (await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })).toJSON()
  const get = async (options) =>
    (await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) })).toJSON()
  await call('POST', '/login?realm=r', {}, { authorization })
  const creation = await call('POST', '/account/passkeys/options')
  const credential = await create(creation.json)
  const registered = await call('POST', '/account/passkeys', { name: 'Chromium', credential })
  const request = await call('POST', '/passkeys/login/options?realm=r')
  const login = await call('POST', '/passkeys/login?realm=r', { credential: await get(request.json) })
  const alone = await call('GET', '/whoami')
  const asked = await call('POST', '/login?realm=r', {}, { authorization })
  const passkey = await get(asked.json.passkey_options)
  const both = await call('POST', '/login?realm=r', { passkey }, { authorization })
  const second = await call('GET', '/whoami')
  return { registered, login, alone, asked: asked.json.next_step, both, second }
})()`

test('a browser registers a passkey, logs in with it alone, and after the password', {
  skip: chromium === undefined ? 'Chromium is not installed' : false,
}, async () => {
  await using scene = await startPasskeys()
  const { auth } = scene
  const origin = `https://localhost:${auth.port}`
  // The port is known only after the start.
  Object.assign(auth.services, {
    passkeys: { relyingParty: { id: 'localhost', origins: [origin] }, attestation: undefined },
  })
  await using page = await openPage(await readServerKey(auth.port))
  await page.send('WebAuthn.enable')
  const kind = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true }
  await page.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...kind, isUserVerified: true, automaticPresenceSimulation: true },
  })
  await page.show(`${origin}/page`, '<!doctype html><title>Passkeys</title>')
  // biome-ignore lint/suspicious/noExplicitAny: what the script returns
  const found = (await page.evaluate(script)) as any
  assert.equal(found.registered.status, 201, JSON.stringify(found))
  assert.equal(found.login.status, 200, JSON.stringify(found))
  assert.deepEqual([found.alone.json.sub, found.alone.json.as_as], ['ann', 'f2'])
  assert.equal(found.asked, 'TotpRequired')
  assert.equal(found.both.json.next_step, 'Authenticated', JSON.stringify(found))
  assert.deepEqual([found.second.json.sub, found.second.json.as_as], ['ann', 'up'])
})
