import assert from 'node:assert/strict'
import { accountKey, acmeClient, type HttpHost, signed } from '@warder/authority/testing'
import { makeAuthorities, outsider, toDer } from '@warder/kms/testing'
import { parseCertificate, readCertificate, readCertificateExtensions, readKeyIdentifier } from '@warder/pki'
import { createCertId, ocspRequest } from '@warder/pki/testing'
import { until } from '../../../testing/until.ts'
import { pageOrigin } from './browsers.ts'
import { ok, type Walked, walkerOf } from './walked-installation.ts'

const authorities = '/v1/pki/authorities'

/** Authorities, certificates, and what everybody may ask about them. */
export async function walkPki({ user, wire }: Walked): Promise<void> {
  const alice = await user('alice')
  const { root, issuing, issue } = await makeAuthorities(alice.wire)
  await alice.get(authorities)
  await alice.get(`${authorities}/${issuing.id}`)
  await alice.post('/v1/pki/requests', { subject: 'CN=request', alg: 'ES256' })
  const made = (await ok(issue({ alg: 'ES256', names: ['a.example'] }))).json
  const path = `/v1/pki/certificates/${made.id}`
  await alice.get(`${authorities}/${issuing.id}/certificates`)
  await alice.get(path)
  await alice.put(`${path}/renewal`, { automatic: true })
  await alice.get(`${path}/renewal`)
  const renewed = (await alice.post(`${path}/renew`, {})).json.id
  await alice.post(`/v1/pki/certificates/${renewed}/revoke`, { reason: 'certificateHold' })
  await alice.post(`/v1/pki/certificates/${renewed}/release`)

  const anonymous = walkerOf(wire('kms'))
  const [issuer, leaf] = [issuing, made].map(({ certificate }) => parseCertificate(toDer(certificate)))
  assert.ok(issuer !== undefined && leaf !== undefined)
  const request = ocspRequest([
    createCertId('sha1', { name: issuer.subject, spki: issuer.spki }, leaf.serial),
  ])
  const base64 = encodeURIComponent(Buffer.from(request).toString('base64'))
  const asked = { bytes: request, headers: { 'content-type': 'application/ocsp-request' } }
  // The primary signs the first list and certifies the responder after a moment.
  const publicPath = `/public/certificates/${root.id}`
  await until(
    'the first list is signed',
    async () => (await anonymous.wire.get(`${publicPath}/crl`)).status === 200,
  )
  await anonymous.get(`${publicPath}/certificate`)
  await until(
    'the responder answers',
    async () => (await anonymous.wire.get(`/ocsp/${base64}`)).status === 200,
  )
  await anonymous.call('POST', '/ocsp', asked)
  await anonymous.call('POST', '/ocsp/', asked)
}

/** ACME, as a client does it. @param host answers challenges for `localhost` */
export async function walkAcme({ user, wire }: Walked, host: HttpHost): Promise<void> {
  const alice = await user('alice')
  const anonymous = walkerOf(wire('kms'))
  const { issuing } = await makeAuthorities(alice.wire, { subject: 'CN=ACME, O=Acme' })
  const path = `${authorities}/${issuing.id}/acme`
  await alice.put(path, {})
  await alice.get(path)
  const bind = async () => (await alice.post(`${path}/credentials`, {})).json
  await anonymous.get(`/acme/${issuing.id}/directory`)
  await anonymous.get(`/acme/${issuing.id}/new-nonce`)
  const start = async () => {
    const made = acmeClient(anonymous.wire, issuing.id, accountKey(), pageOrigin)
    await ok(made.register(await bind()))
    return made
  }
  const client = await start()
  const post = async (url: string, payload: unknown = '') => ok(client.post(url, payload))
  await post(String(client.kid))
  const order = await post(client.url('new-order'), { identifiers: [{ type: 'dns', value: 'localhost' }] })
  const address = String(order.headers.location)
  await post(`${client.kid}/orders`)
  const authorization = await post(order.json.authorizations[0])
  const challenge = authorization.json.challenges.find(({ type }: { type: string }) => type === 'http-01')
  host.answers.set(challenge.token, `${challenge.token}.${client.key.thumbprint}`)
  assert.equal((await post(challenge.url, {})).json.status, 'valid')
  const { csr } = await outsider('CN=localhost', ['DNS:localhost'])
  await post(`${address}/finalize`, { csr: toDer(csr).toString('base64url') })
  const { certificate } = (await post(address)).json
  const { text, headers } = await post(certificate)
  await post(/<([^>]+)>;rel="alternate"/.exec(String(headers.link))?.[1] ?? '')
  const leaf = toDer(text)
  const parts = [
    readKeyIdentifier(readCertificateExtensions(toDer(issuing.certificate))),
    readCertificate(leaf).serialNumber,
  ]
  const id = parts.map((part) => Buffer.from(part ?? []).toString('base64url')).join('.')
  await anonymous.get(`/acme/${issuing.id}/renewal-info/${id}`)
  await post(client.url('revoke-cert'), { certificate: leaf.toString('base64url') })
  const next = accountKey()
  const url = client.url('key-change')
  const change = { account: client.kid, oldKey: client.key.jwk }
  await post(url, signed(next, { url, jwk: next.jwk }, change))

  await alice.get(`${path}/accounts`)
  const other = String((await start()).kid)
    .split('/')
    .at(-1)
  await alice.del(`${path}/accounts/${other}`)
  await alice.get(`${path}/credentials`)
  await alice.del(`${path}/credentials/${(await bind()).kid}`)
  await alice.del(path)
}
