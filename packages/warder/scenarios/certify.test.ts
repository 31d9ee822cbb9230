import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { startInstallation } from '../testing/installation.ts'

test('a certificate is no session, in neither service; a session opens both', async () => {
  const warder = await startInstallation()
  const [auth, kms] = [warder.client('auth'), warder.client('kms')]
  try {
    const session = await warder.adminToken()
    const pem = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' })
    const certified = await auth.ask('/certify?realm=_', {
      json: { verification_key: pem },
      headers: { cookie: `_ea_=${session}` },
    })
    const { certificate } = certified.json as { certificate: string }
    const statuses = async (token: string) => [
      (await auth.ask('/whoami?realm=_', { headers: { cookie: `_ea_=${token}` } })).status,
      (await kms.ask('/me', { headers: { authorization: `Bearer ${token}` } })).status,
    ]
    assert.deepEqual(await statuses(session), [200, 200])
    assert.deepEqual(await statuses(certificate), [401, 401])
    const asCertificate = await auth.ask('/.well-known/certificate-jwks.json')
    const asSession = await auth.ask('/.well-known/jwks.json')
    const [ofCertificates, ofSessions] = [asCertificate.json, asSession.json] as { keys: { x: string }[] }[]
    assert.notEqual(ofCertificates?.keys[0]?.x, ofSessions?.keys[0]?.x, 'each has a key of its own')
  } finally {
    auth.close()
    kms.close()
    await warder.stop()
  }
})
