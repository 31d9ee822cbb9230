import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { systemClock } from '@warder/base'
import { createClientRevocation, listPresentedChain, readClientCrls } from './client-revocation.ts'
import { issue, newFolder } from './fixtures/certificates.ts'
import { ensureLocalAuthority } from './local-authority.ts'
import {
  findClientRevocations,
  listClientCertificates,
  recordClientCertificate,
  revokeClientCertificates,
} from './local-revocation.ts'

const folder = newFolder()
after(() => rmSync(folder, { recursive: true }))
await ensureLocalAuthority({
  folder,
  clock: systemClock,
  certificates: [{ name: 'client', commonName: 'kmip-client', purpose: 'client' }],
})
const authority = {
  certificatePem: readFileSync(join(folder, 'ca.crt'), 'utf8'),
  privateKey: (await import('node:crypto')).createPrivateKey(readFileSync(join(folder, 'ca.key'))),
}
const client = { purpose: 'client', hostnames: [], addresses: [] } as const

function problem(pem: string): string | undefined {
  const { revoked } = readClientCrls({
    authoritiesFile: join(folder, 'ca.crt'),
    files: [join(folder, 'ca.crl')],
    strict: false,
    crlsOptional: true,
  })
  return createClientRevocation(systemClock, revoked).problem(listPresentedChain(new X509Certificate(pem)))
}

test('recorded certificates are revoked one after the other, and earlier ones stay on the CRL', async () => {
  const made = await Promise.all(
    ['storage', 'storage', 'tape'].map((commonName) => issue({ ...client, commonName }, authority)),
  )
  for (const { certificatePem } of made) recordClientCertificate(folder, certificatePem)
  const findByName = (name: string) => listClientCertificates(folder).filter((each) => each.name === name)
  assert.deepEqual(
    [findByName('storage').length, findByName('tape').length, findByName('kmip-client').length],
    [2, 1, 1],
  )

  const revoked = await revokeClientCertificates(folder, findByName('storage'), 'keyCompromise', systemClock)
  assert.equal(revoked.length, 2)
  assert.deepEqual(
    await revokeClientCertificates(folder, findByName('storage'), 'superseded', systemClock),
    [],
  )
  const [one, two, tape] = made.map(({ certificatePem }) => certificatePem)
  assert.ok(one && two && tape)
  assert.ok(problem(one) && problem(two))
  assert.equal(problem(tape), undefined)
  await revokeClientCertificates(folder, findByName('tape'), 'keyCompromise', systemClock)
  for (const pem of [one, two, tape]) assert.match(String(problem(pem)), /revoked/)
  const listed = listClientCertificates(folder)
  const revocations = findClientRevocations(folder, listed)
  assert.deepEqual(
    listed.filter(({ serial }) => !revocations.has(serial)).map(({ name }) => name),
    ['kmip-client'],
  )
  assert.ok([...revocations.values()].every(({ reason }) => reason === 'keyCompromise'))
})

test('a certificate of another authority does not come onto the CRL', async () => {
  const foreign = await issue({ ...client, commonName: 'kmip-client' })
  const findByName = { name: 'x', serial: '01', validTo: new Date(), pem: foreign.certificatePem }
  await assert.rejects(
    revokeClientCertificates(folder, [findByName], 'keyCompromise', systemClock),
    /was not issued by/,
  )
})

test('without the key of the authority nothing is revoked', async () => {
  const elsewhere = newFolder()
  await assert.rejects(
    revokeClientCertificates(elsewhere, [], 'keyCompromise', systemClock),
    /ca\.crt does not exist/,
  )
  rmSync(elsewhere, { recursive: true })
})
