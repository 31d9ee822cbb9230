import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { byteString, Enumeration, enumeration, structure, Tag } from '@warder/kmip-codec'
import { makeAuthorities, outsider, type Started, startKms, startSharedKms, toDer } from '@warder/kms/testing'
import {
  basicConstraints,
  constraintName,
  crlDistributionPoints,
  type Extension,
  generalName,
  issueCrl,
  keyUsage,
  parseCertificate,
  subjectAltName,
} from '@warder/pki'
import { issue, nameConstraints, type Party, party, toIssuer } from '@warder/pki/testing'
import { kmipClient } from '../../testing/kmip-client.ts'

const { Valid, Invalid, Unknown } = Enumeration.ValidityIndicator
const day = 86_400_000

const kms = await startSharedKms({ config: { outbound_allow_private_networks: true } })
const authorities = await makeAuthorities(kms.user('alice'))

async function validity(user: string, ...ders: readonly Uint8Array[]): Promise<unknown> {
  return validityAt(kms, user, ...ders)
}

async function validityAt(at: Started, user: string, ...ders: readonly Uint8Array[]): Promise<unknown> {
  const nodes = ders.map((der) =>
    structure(Tag.Certificate, [
      enumeration(Tag.CertificateType, Enumeration.CertificateType.X_509),
      byteString(Tag.CertificateValue, der),
    ]),
  )
  return (await kmipClient(at.user(user)).do('Validate', nodes)).get(Tag.ValidityIndicator)
}

async function leaf(name: string) {
  const { csr } = await outsider('', [`DNS:${name}`])
  const made = await authorities.issue({ csr, profile: 'server' })
  assert.equal(made.status, 200, made.text)
  return { id: made.json.id as string, der: toDer(made.json.certificate) }
}

test('the path is built from the stored authorities that the caller may validate', async () => {
  const { der } = await leaf('a.example')
  const { root, issuing } = authorities
  assert.equal(await validity('alice', der), Valid)
  assert.equal(await validity('bob', der), Unknown)
  const chain = [toDer(issuing.certificate), toDer(root.certificate)]
  assert.equal(await validity('bob', der, ...chain), Valid, 'what is sent along counts')
  for (const unique_identifier of [root.id, issuing.id]) {
    const grant = { unique_identifier, user_id: 'bob', operation_types: ['validate'] }
    assert.equal((await kms.user('alice').post('/access/grant', grant)).status, 200)
  }
  assert.equal(await validity('bob', der), Valid)
})

test('a certificate that an authority of the service revoked or put on hold is Invalid at once', async () => {
  const alice = kms.user('alice')
  const { id, der } = await leaf('b.example')
  const change = async (what: string, json: object) =>
    assert.equal((await alice.post(`/v1/pki/certificates/${id}/${what}`, json)).status, 200)
  await change('revoke', { reason: 'certificateHold' })
  assert.equal(await validity('alice', der), Invalid)
  await change('release', {})
  assert.equal(await validity('alice', der), Valid)
  await change('revoke', { reason: 'keyCompromise' })
  assert.equal(await validity('alice', der), Invalid)
  const chain = [authorities.issuing, authorities.root].map(({ certificate }) => toDer(certificate))
  assert.equal(await validity('bob', der, ...chain), Invalid, 'also for those who bring the chain')
})

/** An authority that is not here, and a web server with its CRL. */
interface Elsewhere extends AsyncDisposable {
  readonly root: Uint8Array
  readonly url: string
  asked: number
  crl: Buffer | undefined
  leaf(extensions: readonly Extension[], subject?: Party): Promise<Buffer>
  signCrl(revoked: readonly Uint8Array[], by?: Party): Promise<Buffer>
}

const authorityUses = [basicConstraints(true), keyUsage(['keyCertSign', 'cRLSign'])]

async function elsewhere(extensions: readonly Extension[] = []): Promise<Elsewhere> {
  const authority = party('Elsewhere')
  const now = Date.now()
  const dates = [now - day, now + 30 * day] as const
  const server = createServer((_request, response) => {
    made.asked += 1
    if (made.crl === undefined) response.writeHead(404).end()
    else response.end(made.crl)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const made: Elsewhere = {
    root: await issue(authority, authority, [...authorityUses, ...extensions], dates),
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/crl`,
    asked: 0,
    crl: undefined,
    leaf: (more, subject = party('leaf')) => issue(subject, authority, more, dates),
    signCrl: (revoked, by = authority) =>
      issueCrl(
        {
          number: 1n,
          thisUpdate: now - day,
          nextUpdate: now + day,
          entries: revoked.map((der) => ({ serial: parseCertificate(der).serial, revokedAt: now - day })),
        },
        toIssuer(by),
      ),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return made
}

test('CRLs of external authorities are fetched once from the distribution point, and used if the authority signed them', async () => {
  await using other = await elsewhere()
  const points = crlDistributionPoints([other.url])
  const [good, revoked] = [await other.leaf([points]), await other.leaf([points])]
  other.crl = await other.signCrl([revoked])
  assert.equal(await validity('alice', good, other.root), Valid)
  assert.equal(await validity('alice', revoked, other.root), Invalid)
  assert.equal(other.asked, 1, 'it was kept')
  await using forged = await elsewhere()
  const victim = await forged.leaf([crlDistributionPoints([forged.url])])
  forged.crl = await forged.signCrl([victim], party('Elsewhere'))
  assert.equal(await validity('alice', victim, forged.root), Valid, 'a CRL of somebody else says nothing')
})

test('an unavailable CRL is a soft failure unless CRLs are required', async () => {
  await using other = await elsewhere()
  const certificate = await other.leaf([crlDistributionPoints([other.url])])
  const silent = await other.leaf([])
  assert.equal(await validity('alice', certificate, other.root), Valid)
  await using strict = await startKms({
    config: { outbound_allow_private_networks: true, validate_requires_crl: true },
  })
  assert.equal(await validityAt(strict, 'alice', certificate, other.root), Unknown)
  assert.equal(await validityAt(strict, 'alice', silent, other.root), Valid, 'nobody tells of this one')
})

test('CRLs are not fetched from private networks, nor for certificates without a path', async () => {
  await using other = await elsewhere()
  const certificate = await other.leaf([crlDistributionPoints([other.url])])
  other.crl = await other.signCrl([certificate])
  await using guarded = await startKms()
  assert.equal(await validityAt(guarded, 'alice', certificate, other.root), Valid)
  assert.equal(await validity('alice', certificate), Unknown)
  assert.equal(other.asked, 0)
})

test('name constraints, path lengths and key usages are enforced', async () => {
  const constraints = nameConstraints({ permitted: [constraintName('DNS:example.com')] })
  await using other = await elsewhere([constraints])
  const named = (name: string) => other.leaf([subjectAltName([generalName(`DNS:${name}`)])])
  assert.equal(await validity('alice', await named('a.example.com'), other.root), Valid)
  assert.equal(await validity('alice', await named('a.example.org'), other.root), Invalid)
  const [root, middle, last, end] = ['root', 'middle', 'last', 'end'].map((name) => party(name)) as [
    Party,
    Party,
    Party,
    Party,
  ]
  const now = Date.now()
  const dates = [now - day, now + day] as const
  const chain = [
    await issue(root, root, [basicConstraints(true, 0), keyUsage(['keyCertSign'])], dates),
    await issue(middle, root, authorityUses, dates),
    await issue(last, middle, authorityUses, dates),
    await issue(end, last, [], dates),
  ]
  assert.equal(await validity('alice', ...chain), Invalid, 'the root allows no authority below it')
  const user = await issue(end, middle, [], dates)
  const noIssuer = await issue(middle, root, [basicConstraints(false)], dates)
  assert.equal(await validity('alice', user, noIssuer, chain[0] as Buffer), Invalid)
})
