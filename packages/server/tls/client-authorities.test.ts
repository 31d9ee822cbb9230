import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { day, issue } from './fixtures/certificates.ts'
import { createIssuedUnder } from './peer.ts'

const plain = { hostnames: [], addresses: [] } as const
const authority = { ...plain, purpose: 'authority' } as const
const client = { ...plain, purpose: 'client', commonName: 'one' } as const

test('a certificate is that of a user, of a partner, of both, or of none', async () => {
  const users = await issue({ ...authority, commonName: 'users' })
  const partners = await issue({ ...authority, commonName: 'partners' })
  const twin = await issue({ ...authority, commonName: 'users' })
  const other = await issue({ ...authority, commonName: 'other partner' })
  let now = Date.now()
  const under = createIssuedUnder(
    {
      users: users.certificatePem,
      partners: { one: `${partners.certificatePem}\n${twin.certificatePem}`, other: other.certificatePem },
    },
    () => now,
  )
  const kinds = ({ certificatePem }: { readonly certificatePem: string }) => {
    const certificate = new X509Certificate(certificatePem)
    assert.equal(under.partner(certificate, 'constructor'), false)
    return [under.users(certificate), under.partner(certificate, 'one')]
  }
  const user = await issue(client, users)
  const partner = await issue(client, partners)
  assert.deepEqual(kinds(user), [true, false])
  assert.deepEqual(kinds(partner), [false, true])
  // A partner's certificate is none of another partner.
  const ofOther = await issue(client, other)
  assert.deepEqual(kinds(ofOther), [false, false])
  assert.equal(under.partner(new X509Certificate(ofOther.certificatePem), 'other'), true)
  assert.equal(under.partner(new X509Certificate(partner.certificatePem), 'other'), false)
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
  const of = (pem: string) =>
    createIssuedUnder({ users: undefined, partners: { one: pem } }, () => Date.now())
  const byRoot = of(root.certificatePem)
  assert.deepEqual([byRoot.users(certificate), byRoot.partner(certificate, 'one')], [false, true])
  assert.equal(of(certificate.toString()).partner(certificate, 'one'), false)
})
