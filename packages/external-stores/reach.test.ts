import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { storeKeyAs } from '@warder/kms/testing'
import fc from 'fast-check'
import { principal, requestMetadata, sendSigned } from './aws/fixtures/xks.ts'
import { issue, pool, requestContext } from './azure/fixtures/ekm.ts'
import { dataKey, owner, startGoogle, wrappingKid } from './google/testing/world.ts'
import { currentKid, encrypted, tenant } from './microsoft/testing/world.ts'
import { generatePair, signedBy, startIssuers } from './testing/issuers.ts'

const otherArn = 'arn:aws:iam::123456789012:role/Other'
const otherPool = 'fabrikam.managedhsmclient.azure.net'
const rights = ['encrypt', 'decrypt', 'getattributes'] as const
type Right = (typeof rights)[number]

/** To whom something is granted, in some spelling. */
const grantees = [
  'aws:*',
  `aws:${principal}`,
  `AWS:${principal.toUpperCase()}`,
  `aws:${otherArn}`,
  'aws:/payments:*',
  `aws:/payments:${principal}`,
  'google:*',
  'google:Alice@example.com',
  'google:zoe@example.com',
  'azure:*',
  `azure:${pool.toUpperCase()}`,
  `azure:${otherPool}`,
  'microsoft:alice@example.com',
  'microsoft:*',
  '*',
  'bob',
] as const

/** A use that a principal tries, and the names under which it may have been granted. */
interface Attempt {
  readonly what: string
  readonly right: Right
  readonly names: readonly string[]
  send(): Promise<number>
}

test('random rights of principals of all four clouds on keys reach what they say, and nothing else', async () => {
  const authority = await issue('Azure clients')
  await using issuers = await startIssuers()
  const entra = `entra ${tenant} 1`
  issuers.serveAt(`/${tenant}/discovery/keys`, entra)
  await generatePair(entra)
  await using world = await startGoogle({
    issuers,
    partners: { azure: authority.certificatePem },
    config: {
      'aws_xks_config.aws_xks_enable': true,
      'aws_xks_config.aws_xks_uri_path_prefixes': ['/aws', '/payments'],
      'azure_ekm_config.azure_ekm_enable': true,
      'azure_ekm_config.azure_ekm_ca_cert_file': 'in the test',
      'azure_ekm_config.azure_ekm_client_names': [pool, otherPool],
      'ms_dke_config.ms_dke_enable': true,
      'ms_dke_config.ms_dke_keys': [`finance=${currentKid}`],
      'ms_dke_config.ms_dke_tenants': [tenant],
      'ms_dke_config.ms_dke_authority': issuers.url,
    },
  })
  const { kms } = world
  const keyOwner = kms.user(owner)
  const change = async (verb: 'grant' | 'revoke', user_id: string, operation_types: readonly string[]) => {
    for (const unique_identifier of [wrappingKid, currentKid]) {
      const body = { unique_identifier, user_id, operation_types }
      const { status, text } = await keyOwner.post(`/access/${verb}`, body)
      assert.equal(status, 200, text)
    }
  }
  // Documents are decrypted with an RSA key; what is granted is granted on both.
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = privateKey.export({ format: 'jwk' }) as Record<string, unknown>
  await storeKeyAs(kms, currentKid, owner, jwk, 'RSA-OAEP-256', true)
  const attempts: Attempt[] = []

  // Encrypted while every principal had the right, so that a decryption below fails only for want of the right.
  await change('grant', 'google:*', ['encrypt', 'decrypt'])
  const tokens = await world.tokens()
  const { wrapped_key } = (await world.post('wrap', { ...tokens, key: dataKey })).json
  attempts.push(
    {
      what: 'Google wraps for alice',
      right: 'encrypt',
      names: ['google:*', 'google:Alice@example.com'],
      send: async () => (await world.post('wrap', { ...tokens, key: dataKey })).status,
    },
    {
      what: 'Google unwraps for alice',
      right: 'decrypt',
      names: ['google:*', 'google:Alice@example.com'],
      send: async () => (await world.post('unwrap', { ...tokens, wrapped_key })).status,
    },
  )

  const keys = '/v1/external-stores/aws/access-keys'
  for (const prefix of ['/aws', '/payments'] as const) {
    const made = await kms.user('admin').post(keys, { region: 'eu-west-1', uri_prefix: prefix })
    assert.equal(made.status, 200, made.text)
    const aws = (arn: string, operation: string, more: object = {}) =>
      sendSigned(
        kms.with({}),
        `${prefix}/kms/xks/v1/keys/${wrappingKid}/${operation}`,
        { requestMetadata: { ...requestMetadata('x'), awsPrincipalArn: arn }, ...more },
        { credential: made.json },
      )
    const encrypting = { plaintext: dataKey, encryptionAlgorithm: 'AES_GCM' }
    await change('grant', `aws:${prefix}:*`, ['encrypt'])
    const { ciphertextDataIntegrityValue: _, ...sealed } = (await aws(principal, 'encrypt', encrypting)).json
    const decrypting = { ...sealed, encryptionAlgorithm: 'AES_GCM' }
    const names = (arn: string) => {
      const own = arn === principal ? [`aws:${principal}`, `AWS:${principal.toUpperCase()}`] : [`aws:${arn}`]
      return prefix === '/aws'
        ? ['aws:*', ...own]
        : ['aws:/payments:*', ...(arn === principal ? [`aws:/payments:${principal}`] : [])]
    }
    for (const arn of [principal, otherArn])
      for (const [operation, right, body] of [
        ['encrypt', 'encrypt', encrypting],
        ['decrypt', 'decrypt', decrypting],
        ['metadata', 'getattributes', {}],
      ] as const)
        attempts.push({
          what: `AWS ${prefix} ${operation} for ${arn}`,
          right,
          names: names(arn),
          send: async () => (await aws(arn, operation, body)).status,
        })
    await change('revoke', `aws:${prefix}:*`, [...rights])
  }

  for (const name of [pool, otherPool]) {
    const { certificatePem, keyPem } = await issue(name, authority)
    const caller = kms.presenting(certificatePem, keyPem)
    const azure = (operation: string, body: object = {}) =>
      caller.post(`/azureekm/${wrappingKid}/${operation}?api-version=0.1-preview`, {
        request_context: requestContext,
        ...body,
      })
    await change('grant', `azure:${name}`, ['encrypt'])
    const wrapping = { alg: 'A256KW', value: Buffer.alloc(32, 7).toString('base64url') }
    const made = await azure('wrapkey', wrapping)
    assert.equal(made.status, 200, made.text)
    await change('revoke', `azure:${name}`, [...rights])
    for (const [operation, right, body] of [
      ['metadata', 'getattributes', {}],
      ['wrapkey', 'encrypt', wrapping],
      ['unwrapkey', 'decrypt', { alg: 'A256KW', value: made.json.value }],
    ] as const)
      attempts.push({
        what: `Azure ${operation} for ${name}`,
        right,
        names: ['azure:*', name === pool ? `azure:${pool.toUpperCase()}` : `azure:${otherPool}`],
        send: async () => (await azure(operation, body)).status,
      })
  }

  const value = encrypted(await kms.with({}).get('/ms_dke/finance'))
  const now = Math.floor(Date.now() / 1000)
  for (const upn of ['alice@example.com', 'zoe@example.com']) {
    const claims = { iss: `https://sts.windows.net/${tenant}/`, aud: 'https://kms.example.com', tid: tenant }
    const token = await signedBy(
      entra,
      { ...claims, iat: now, exp: now + 3600, oid: upn, upn, ver: '1.0' },
      { kid: entra },
    )
    attempts.push({
      what: `Microsoft decrypts for ${upn}`,
      right: 'decrypt',
      names: ['microsoft:*', `microsoft:${upn}`],
      async send() {
        const caller = kms.with({ authorization: `Bearer ${token}` })
        const asked = { alg: 'RSA-OAEP-256', value }
        return (await caller.post(`/ms_dke/finance/${currentKid}/decrypt`, asked)).status
      },
    })
  }
  attempts.push({
    what: 'bob encrypts here',
    right: 'encrypt',
    names: ['bob', '*'],
    async send() {
      const body = { kid: wrappingKid, alg: 'dir', enc: 'A256GCM', data: 'eA' }
      return (await kms.user('bob').post('/v1/crypto/encrypt', body)).status
    },
  })

  const grant = fc.tuple(fc.constantFrom(...grantees), fc.subarray([...rights], { minLength: 1 }))
  await fc.assert(
    fc.asyncProperty(fc.array(grant, { maxLength: 5 }), async (grants) => {
      for (const user of grantees) await change('revoke', user, [...rights])
      const granted = new Map<string, Set<string>>()
      for (const [user, given] of grants) {
        await change('grant', user, given)
        granted.set(user, new Set([...(granted.get(user) ?? []), ...given]))
      }
      for (const { what, right, names, send } of attempts) {
        const may = names.some((name) => granted.get(name)?.has(right) === true)
        const status = await send()
        assert.equal(status === 200, may, `${what}: ${status}, ${JSON.stringify(grants)}`)
        if (!may) assert.ok(status === 403 || status === 404, `${what}: ${status}`)
      }
    }),
    { numRuns: 15 },
  )
})
