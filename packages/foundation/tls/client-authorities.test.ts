import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { day, issue } from './fixtures/certificates.ts'
import { issuedUnder } from './index.ts'

const plain = { hostnames: [], addresses: [] } as const
const authority = { ...plain, purpose: 'authority' } as const
const client = { ...plain, purpose: 'client', commonName: 'one' } as const

test('a certificate is that of a user, of a partner, of both, or of none', async () => {
  const users = await issue({ ...authority, commonName: 'users' })
  const partners = await issue({ ...authority, commonName: 'partners' })
  const twin = await issue({ ...authority, commonName: 'users' })
  let now = Date.now()
  const under = issuedUnder(
    { users: users.certificatePem, partners: `${partners.certificatePem}\n${twin.certificatePem}` },
    () => now,
  )
  const kinds = ({ certificatePem }: { readonly certificatePem: string }) => {
    const certificate = new X509Certificate(certificatePem)
    return [under(certificate, 'users'), under(certificate, 'partners')]
  }
  const user = await issue(client, users)
  const partner = await issue(client, partners)
  assert.deepEqual(kinds(user), [true, false])
  assert.deepEqual(kinds(partner), [false, true])
  // An authority of the same name with another key.
  assert.deepEqual(kinds(await issue(client, twin)), [false, true])
  assert.deepEqual(kinds(await issue(client, await issue({ ...authority, commonName: 'users' }))), [
    false,
    false,
  ])
  assert.deepEqual(kinds(await issue({ ...client, purpose: 'server', hostnames: ['localhost'] }, users)), [
    false,
    false,
  ])
  now += 3 * day
  assert.deepEqual(kinds(user), [false, false])
})

test('an intermediate of the file leads to its root, and is no root itself', async () => {
  const root = await issue({ ...authority, commonName: 'root' })
  const certificate = new X509Certificate((await issue(client, root)).certificatePem)
  const none = issuedUnder({ users: undefined, partners: root.certificatePem }, () => Date.now())
  assert.deepEqual([none(certificate, 'users'), none(certificate, 'partners')], [false, true])
  const leafOnly = issuedUnder({ users: undefined, partners: certificate.toString() }, () => Date.now())
  assert.equal(leafOnly(certificate, 'partners'), false)
})
