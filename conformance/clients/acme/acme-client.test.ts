import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { after, before, test } from 'node:test'
import acme from 'acme-client'
import { type AcmeWorld, startAcmeWorld } from './world.ts'

/** acme-client (npm) as it is published, against a started Warder: http-01 and dns-01. */
let world: AcmeWorld
before(async () => {
  world = await startAcmeWorld()
  acme.axios.defaults.httpsAgent = new Agent({ ca: readFileSync(world.warder.caFile) })
})
after(async () => {
  acme.axios.defaults.httpsAgent.destroy()
  await world[Symbol.asyncDispose]()
})

async function newClient(): Promise<acme.Client> {
  const { kid, hmac_key: hmacKey, directory } = await world.credential()
  return new acme.Client({
    directoryUrl: directory,
    accountKey: await acme.crypto.createPrivateEcdsaKey(),
    externalAccountBinding: { kid, hmacKey },
    backoffMin: 50,
    backoffMax: 500,
  })
}

/** Gets a certificate by the automatic mode of the client. */
async function certificateFor(client: acme.Client, names: readonly string[], type: 'http-01' | 'dns-01') {
  const { web, dns } = world
  const [commonName = ''] = names
  const [key, csr] = await acme.crypto.createCsr({ commonName, altNames: [...names] })
  const pem = await client.auto({
    csr,
    email: 'admin@example.com',
    termsOfServiceAgreed: true,
    challengePriority: [type],
    // Its own look at the challenge would ask the resolvers of this machine.
    skipChallengeVerification: true,
    challengeCreateFn: async ({ identifier }, challenge, authorization) => {
      if (challenge.type === 'http-01') web.answers.set(challenge.token, authorization)
      else dns.texts.set(`_acme-challenge.${identifier.value}`, authorization)
    },
    challengeRemoveFn: async ({ identifier }, challenge) => {
      web.answers.delete(challenge.token)
      dns.texts.delete(`_acme-challenge.${identifier.value}`)
    },
  })
  const certificate = new X509Certificate(pem)
  assert.ok(certificate.checkPrivateKey((await import('node:crypto')).createPrivateKey(key)))
  return { pem, certificate }
}

test('acme-client gets a certificate by http-01, renews it and revokes it', async () => {
  const client = await newClient()
  const first = await certificateFor(client, ['device.acme.test', 'other.acme.test'], 'http-01')
  assert.equal(first.certificate.subjectAltName, 'DNS:device.acme.test, DNS:other.acme.test')
  assert.equal(acme.crypto.splitPemChain(first.pem).length, 2, 'the root is left out')
  const again = await certificateFor(client, ['device.acme.test', 'other.acme.test'], 'http-01')
  assert.notEqual(again.certificate.serialNumber, first.certificate.serialNumber)
  await client.revokeCertificate(first.pem, { reason: 4 })
  await assert.rejects(client.revokeCertificate(first.pem), /already revoked/)
  const [, issuer = ''] = acme.crypto.splitPemChain(first.pem)
  assert.ok(first.certificate.verify(new X509Certificate(issuer).publicKey))
})

test('acme-client gets a wildcard certificate by dns-01', async () => {
  const client = await newClient()
  const { certificate } = await certificateFor(client, ['*.acme.test'], 'dns-01')
  assert.equal(certificate.subjectAltName, 'DNS:*.acme.test')
})

test('acme-client sees why a challenge failed', async () => {
  const client = await newClient()
  world.dns.missing.add('gone.acme.test')
  await assert.rejects(certificateFor(client, ['gone.acme.test'], 'http-01'), /cannot be resolved/)
})

test('acme-client rolls the key of its account over, changes and deactivates it', async () => {
  const client = await newClient()
  await client.createAccount({ termsOfServiceAgreed: true, contact: ['mailto:a@example.com'] })
  const url = client.getAccountUrl()
  await client.updateAccountKey(await acme.crypto.createPrivateRsaKey())
  const changed = await client.updateAccount({ contact: ['mailto:b@example.com'] })
  assert.deepEqual([changed.contact, client.getAccountUrl()], [['mailto:b@example.com'], url])
  assert.equal((await client.updateAccount({ status: 'deactivated' } as never)).status, 'deactivated')
  await assert.rejects(
    client.createOrder({ identifiers: [{ type: 'dns', value: 'x.acme.test' }] }),
    /deactivated/,
  )
})
