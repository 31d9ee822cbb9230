import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect } from 'node:tls'
import type { Caller } from '@warder/kms/testing'
import { issue, requestContext } from '../azure/fixtures/ekm.ts'
import { requestMetadata, sendSigned, startXks } from './fixtures/xks.ts'

const name = 'cks.kms.eu-west-1.amazonaws.com'
const settings = {
  'aws_xks_config.aws_xks_client_names': [name],
  'aws_xks_config.aws_xks_client_ca_cert_file': 'in the test',
}
const day = 24 * 60 * 60 * 1000
const path = '/aws/kms/xks/v1/health'
const health = { requestMetadata: requestMetadata('KmsHealthCheck') }

test('where client certificates of AWS KMS are named, a signature alone opens nothing, and neither does a certificate alone', async () => {
  const [amazon, azure] = [await issue('Amazon'), await issue('Azure clients')]
  await using xks = await startXks({
    clientCertificates: true,
    partners: { aws: amazon.certificatePem, azure: azure.certificatePem },
    config: {
      ...settings,
      'azure_ekm_config.azure_ekm_enable': true,
      'azure_ekm_config.azure_ekm_ca_cert_file': 'in the test',
      'azure_ekm_config.azure_ekm_client_names': [name],
    },
  })
  const { kms, credential } = xks
  const showing = async (...from: Parameters<typeof issue>): Promise<Caller> => {
    const { certificatePem, keyPem } = await issue(...from)
    return kms.presenting(certificatePem, keyPem)
  }
  const signed = async (caller: Caller, headers = {}) => {
    const { status, json } = await sendSigned(caller, path, health, { credential, headers })
    return status === 200 ? 200 : `${status} ${json.errorName}`
  }
  const awsKms = await showing(name, amazon)
  const refused = '401 AuthenticationFailedException'
  assert.equal(await signed(awsKms), 200)
  assert.equal((await awsKms.post(path, health)).status, 401, 'without a signature')
  assert.equal(await signed(awsKms, { origin: 'https://page.example' }), refused)
  for (const [what, caller] of [
    ['no certificate', kms.with({})],
    ['one of a user', kms.certified()],
    ['another name', await showing('cks.kms.us-east-1.amazonaws.com', amazon)],
    ['the name in capitals', await showing(name.toUpperCase(), amazon)],
    ['another authority', await showing(name, await issue('Amazon'))],
    ['the authority of another cloud', await showing(name, azure)],
    ['one that ended', await showing(name, amazon, [Date.now() - 2 * day, Date.now() - day])],
  ] as const)
    assert.equal(await signed(caller), refused, what)
  // It counts nowhere else.
  assert.equal((await awsKms.get('/me')).status, 401)
  const info = '/azureekm/info?api-version=0.1-preview'
  assert.equal((await awsKms.post(info, { request_context: requestContext })).status, 401)
  const pool = await showing(name, azure)
  assert.equal((await pool.post(info, { request_context: requestContext })).status, 200)
})

test('settings that give the client certificate of AWS KMS in part stop the start', async () => {
  for (const config of [
    { ...settings, 'aws_xks_config.aws_xks_client_ca_cert_file': undefined },
    { ...settings, 'aws_xks_config.aws_xks_client_names': [] },
    { ...settings, plaintext_http: true },
  ])
    await assert.rejects(startXks({ config }), /aws_xks_client/)
})

test('at the name of AWS KMS alone a handshake with another client certificate, or without one, ends before a request', async () => {
  const [amazon, azure] = [await issue('Amazon'), await issue('Azure clients')]
  const host = 'xks.example.com'
  await using xks = await startXks({
    clientCertificates: true,
    partners: { aws: amazon.certificatePem, azure: azure.certificatePem },
    config: { ...settings, 'aws_xks_config.aws_xks_server_names': ['XKS.example.com'] },
  })
  const { kms } = xks
  /** Bytes that come back for a request, until the connection ends. */
  const answer = (servername: string, from?: Parameters<typeof issue>) => {
    const { promise, resolve } = Promise.withResolvers<string>()
    void (from === undefined ? Promise.resolve(undefined) : issue(...from)).then((issued) => {
      let text = ''
      const client = connect({
        port: kms.port,
        host: '127.0.0.1',
        servername,
        ca: kms.ca,
        checkServerIdentity: () => undefined,
        ...(issued !== undefined && { cert: issued.certificatePem, key: issued.keyPem }),
      })
      client.on('data', (chunk) => {
        text += chunk
      })
      client.on('error', () => undefined)
      client.on('close', () => resolve(text.slice(0, 12)))
      client.write('GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    })
    return promise
  }
  assert.equal(await answer(host, [name, amazon]), 'HTTP/1.1 200')
  const others: readonly (readonly [string, Parameters<typeof issue> | undefined])[] = [
    ['no certificate', undefined],
    ['another name', ['cks.kms.us-east-1.amazonaws.com', amazon]],
    ['another authority', [name, await issue('Amazon')]],
    ['the authority of another cloud', [name, azure]],
    ['one that ended', [name, amazon, [Date.now() - 2 * day, Date.now() - day]]],
  ]
  for (const [what, from] of others) {
    assert.equal(await answer(host, from), '', what)
    assert.equal(await answer(host.toUpperCase(), from), '', what)
  }
  assert.match(kms.log.join('\n'), /a TLS handshake was aborted/)
  // Other names of the same port are everybody's.
  assert.equal(await answer('kms.example.com'), 'HTTP/1.1 200')
  await assert.rejects(
    startXks({ config: { 'aws_xks_config.aws_xks_server_names': [host] } }),
    /requires aws_xks_config.aws_xks_client_names, which is empty/,
  )
})
