import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bothEngines, grant, startTwoNodes } from '@warder/kms/testing'
import { requestMetadata, sendSigned } from '../aws/fixtures/xks.ts'
import { aesKey, issue, pool, requestContext, startEkm } from './fixtures/ekm.ts'

const value = 'MTIzNDU2NzgxMjM0NTY3ODEyMzQ1Njc4MTIzNDU2Nzg'
const day = 24 * 60 * 60 * 1000

test('only certificates under the authority of Azure, with a name of the list and within their dates, are let in', async () => {
  await using ekm = await startEkm({ clientCertificates: true })
  const { kms, authority } = ekm
  const present = async (name: string, issuer = authority, dates?: readonly [number, number]) => {
    const { certificatePem, keyPem } = await issue(name, issuer, dates)
    const { status, json } = await ekm.send('info', {}, kms.presenting(certificatePem, keyPem))
    return status === 200 ? 200 : `${status} ${json.code}`
  }
  const unauthorized = '401 Unauthorized'
  assert.equal(await present(pool), 200)
  assert.equal(await present('fabrikam.managedhsmclient.azure.net'), 200)
  for (const name of ['other.managedhsmclient.azure.net', pool.toUpperCase(), `${pool}.`, '*', `x.${pool}`])
    assert.equal(await present(name), unauthorized, name)
  assert.equal(
    await present(pool, await issue('Azure clients')),
    unauthorized,
    'another authority of that name',
  )
  assert.equal(await present(pool, authority, [Date.now() - 2 * day, Date.now() - day]), unauthorized)
  assert.equal(await present(pool, authority, [Date.now() + day, Date.now() + 2 * day]), unauthorized)
  for (const caller of [kms.with({}), kms.user('alice'), kms.certified()])
    assert.equal((await ekm.send('info', {}, caller)).status, 401)
  // A chain through a certificate that is no authority.
  const client = await issue(pool, authority)
  assert.equal(await present(pool, client), unauthorized)
})

test('a certificate of Azure is nobody elsewhere, and one of a user is a user still', async () => {
  await using ekm = await startEkm({ clientCertificates: true })
  const { kms, authority } = ekm
  assert.equal((await kms.certified().get('/me')).json.user, 'kmip-client')
  for (const name of [pool, 'alice', 'admin', 'kmip-client']) {
    const { certificatePem, keyPem } = await issue(name, authority)
    const caller = kms.presenting(certificatePem, keyPem)
    assert.equal((await caller.get('/me')).status, 401, name)
    assert.equal((await caller.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).status, 401)
    assert.equal((await caller.post('/kmip/2_1', {})).status, 401)
  }
  // With nothing but the authority of Azure, too.
  await using alone = await startEkm()
  assert.equal((await alone.caller.get('/me')).status, 401)
  assert.equal((await alone.send('info')).status, 200)
})

test('the certificate of somebody who sits before a page of a browser is not taken', async () => {
  await using ekm = await startEkm()
  for (const headers of [
    { origin: 'https://page.example' },
    { cookie: 'a=b' },
    { 'sec-fetch-site': 'cross-site' },
  ]) {
    const { status } = await ekm.caller.call('POST', '/azureekm/info?api-version=0.1-preview', {
      json: { request_context: requestContext },
      headers,
    })
    assert.equal(status, 401, JSON.stringify(headers))
  }
})

test('what one cloud wrapped opens nothing at another, and no path of one knows callers of the other', async () => {
  await using ekm = await startEkm({ config: { 'aws_xks_config.aws_xks_enable': true } })
  const { kms } = ekm
  const made = await kms.user('admin').post('/v1/external-stores/aws/access-keys', { region: 'eu-west-1' })
  const credential = { id: made.json.id, secret: made.json.secret }
  const aws = (path: string, body: object) => sendSigned(kms.with({}), path, body, { credential })
  const azureKid = await aesKey(kms)
  const wrapped = Buffer.from(
    (await ekm.send(`${azureKid}/wrapkey`, { alg: 'A256KW', value })).json.value,
    'base64url',
  )
  const decrypt = {
    requestMetadata: requestMetadata('Decrypt'),
    encryptionAlgorithm: 'AES_GCM',
    ciphertext: wrapped.subarray(0, 24).toString('base64'),
    authenticationTag: wrapped.subarray(24, 40).toString('base64'),
    initializationVector: Buffer.alloc(12).toString('base64'),
  }
  const answer = await aws(`/aws/kms/xks/v1/keys/${azureKid}/decrypt`, decrypt)
  assert.deepEqual([answer.status, answer.json.errorName], [404, 'KeyNotFoundException'])
  // A key that both may use: the forms differ, and so do the uses of the key.
  await grant(kms.user('alice'), azureKid, 'aws:*', 'decrypt', 'encrypt')
  const shared = await aws(`/aws/kms/xks/v1/keys/${azureKid}/decrypt`, decrypt)
  assert.deepEqual([shared.status, shared.json.errorName], [400, 'InvalidKeyUsageException'])
  // A signature of AWS is nobody at the EKM proxy, and a certificate of Azure nobody at the XKS proxy.
  const path = '/azureekm/info?api-version=0.1-preview'
  const body = { request_context: requestContext }
  assert.equal((await sendSigned(kms.with({}), path, body, { credential })).status, 401)
  const health = { requestMetadata: requestMetadata('x') }
  assert.equal((await ekm.caller.post('/aws/kms/xks/v1/health', health)).status, 401)
})

for (const engine of await bothEngines()) {
  test(`two nodes on ${engine.name}: a stop counts on both from the next request on`, {
    skip: engine.skip,
  }, async () => {
    const authority = await issue('Azure clients')
    const client = await issue(pool, authority)
    await using nodes = await startTwoNodes(
      engine,
      {
        'azure_ekm_config.azure_ekm_enable': true,
        'azure_ekm_config.azure_ekm_ca_cert_file': 'in the test',
        'azure_ekm_config.azure_ekm_client_names': [pool],
      },
      { partners: { azure: authority.certificatePem } },
    )
    const callers = [nodes.near, nodes.far].map((kms) => kms.presenting(client.certificatePem, client.keyPem))
    const kid = await aesKey(nodes.near)
    const body = { request_context: requestContext, alg: 'A256KW', value }
    const both = () =>
      Promise.all(
        callers.map(async (caller) => {
          const { status, json } = await caller.post(`/azureekm/${kid}/wrapkey?api-version=0.1-preview`, body)
          return json.code ?? status
        }),
      )
    assert.deepEqual(await both(), [200, 200])
    assert.equal((await nodes.near.user('admin').post('/v1/external-stores/azure/stop', {})).status, 200)
    assert.deepEqual(await both(), ['Forbidden', 'Forbidden'])
    assert.equal((await nodes.onFar('admin').post('/v1/external-stores/azure/start', {})).status, 200)
    assert.deepEqual(await both(), [200, 200])
  })
}

test('the proxy is off by default, has its prefixes, and its settings are checked as a whole', async () => {
  await using ekm = await startEkm({
    config: { 'azure_ekm_config.azure_ekm_path_prefixes': ['', 'contoso/prod'] },
  })
  assert.equal((await ekm.send('info')).status, 200)
  assert.equal((await ekm.send('contoso/prod/info')).status, 200)
  assert.equal((await ekm.send('contoso/test/info')).status, 404)
  const info = (await ekm.kms.user('alice').get('/server-info')).json
  assert.deepEqual(info.external_stores, [
    {
      name: 'azure',
      endpoint: 'https://localhost',
      paths: ['/azureekm', '/azureekm/contoso/prod'],
      client_names: [pool, 'fabrikam.managedhsmclient.azure.net'],
      stopped: false,
    },
  ])
  await using off = await startEkm({ config: { 'azure_ekm_config.azure_ekm_enable': false } })
  assert.equal((await off.send('info')).status, 404)
  for (const config of [
    { 'azure_ekm_config.azure_ekm_ca_cert_file': undefined },
    { 'azure_ekm_config.azure_ekm_client_names': [] },
    { plaintext_http: true },
  ])
    await assert.rejects(startEkm({ config }), /azure_ekm/)
})

test('over its rate a pool is told to come later', async () => {
  await using ekm = await startEkm({ config: { 'azure_ekm_config.azure_ekm_rate_limit_per_second': 3 } })
  const answers = []
  for (let count = 0; count < 6; count++) answers.push(await ekm.send('info'))
  const refused = answers.filter(({ status }) => status === 429)
  assert.ok(refused.length > 0 && answers[0]?.status === 200)
  for (const { json, headers } of refused) {
    assert.equal(json.code, 'TooManyRequests')
    assert.ok(Number(headers['retry-after']) >= 1)
  }
})
