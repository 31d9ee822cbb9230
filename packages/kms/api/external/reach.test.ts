import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { principal, requestMetadata, sendSigned } from './aws/fixtures/xks.ts'
import { issue, pool, requestContext } from './azure/fixtures/ekm.ts'
import { dataKey, owner, startGoogle, wrappingKid } from './google/testing/world.ts'

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

test('random rights of principals of all clouds on one key reach what they say, and nothing else', async () => {
  const authority = await issue('Azure clients')
  await using world = await startGoogle({
    partners: { azure: authority.certificatePem },
    config: {
      'aws_xks_config.aws_xks_enable': true,
      'aws_xks_config.aws_xks_uri_path_prefixes': ['/aws', '/payments'],
      'azure_ekm_config.azure_ekm_enable': true,
      'azure_ekm_config.azure_ekm_ca_cert_file': 'in the test',
      'azure_ekm_config.azure_ekm_client_names': [pool, otherPool],
    },
  })
  const { kms } = world
  const keyOwner = kms.user(owner)
  const change = async (verb: 'grant' | 'revoke', user_id: string, operation_types: readonly string[]) => {
    const body = { unique_identifier: wrappingKid, user_id, operation_types }
    const { status, text } = await keyOwner.post(`/access/${verb}`, body)
    assert.equal(status, 200, text)
  }
  const attempts: Attempt[] = []

  // What was encrypted while everybody might: each decryption below is refused for its right alone.
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
    const path = `/azureekm/${wrappingKid}/metadata?api-version=0.1-preview`
    attempts.push({
      what: `Azure metadata for ${name}`,
      right: 'getattributes',
      names: ['azure:*', name === pool ? `azure:${pool.toUpperCase()}` : `azure:${otherPool}`],
      send: async () => (await caller.post(path, { request_context: requestContext })).status,
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
