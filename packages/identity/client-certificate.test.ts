import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { type IncomingRequest, issueCertificate } from '@warder/server'
import { clientCertificates } from './client-certificate.ts'

const notBefore = new Date('2026-01-01T00:00:00Z')
const notAfter = new Date('2026-02-01T00:00:00Z')

async function certificateOf(commonName: string): Promise<X509Certificate> {
  const plan = { commonName, purpose: 'client', hostnames: [], addresses: [], notBefore, notAfter } as const
  return new X509Certificate((await issueCertificate(plan, undefined)).certificatePem)
}

const requestWith = (certificate: X509Certificate | undefined): IncomingRequest =>
  ({ peerCertificate: () => certificate }) as unknown as IncomingRequest

test('a connection that outlives its certificate speaks for nobody any more', async () => {
  let now = notBefore.getTime()
  const extract = clientCertificates({ now: () => now, monotonic: () => 0 })
  const request = requestWith(await certificateOf('alice'))
  assert.deepEqual(extract(request), { name: 'alice', method: 'tls_auth' })
  now = notAfter.getTime()
  assert.deepEqual(extract(request), { name: 'alice', method: 'tls_auth' })
  now += 1000
  assert.throws(() => extract(request), { kind: 'unauthorized' })
})

test('each certificate has its own name; without one the extractor says nothing', async () => {
  const extract = clientCertificates({ now: () => notBefore.getTime(), monotonic: () => 0 })
  const [alice, bob] = await Promise.all([certificateOf('alice'), certificateOf('bob')])
  for (const [certificate, name] of [
    [alice, 'alice'],
    [bob, 'bob'],
    [alice, 'alice'],
  ] as const)
    assert.deepEqual(extract(requestWith(certificate)), { name, method: 'tls_auth' })
  assert.equal(extract(requestWith(undefined)), undefined)
  const everybody = requestWith(await certificateOf('*'))
  for (let round = 0; round < 2; round += 1) assert.throws(() => extract(everybody), { kind: 'unauthorized' })
})
