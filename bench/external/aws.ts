import type { HttpsClient } from '@warder/command-line/https-client'
import { type Installation, signXksRequest } from 'warder/testing'
import type { Scenario } from '../scenarios.ts'
import { createAdministrator, type Json } from './administrator.ts'

const region = 'eu-west-1'
const awsPrincipalArn = 'arn:aws:iam::123456789012:role/aws-service-role/dynamodb.application-autoscaling'

/** `requestMetadata` of the size that AWS KMS sends. */
function requestMetadata(kmsOperation: string) {
  return {
    awsPrincipalArn,
    kmsKeyArn: 'arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab',
    kmsOperation,
    kmsRequestId: '4112f4d6-db54-4af4-ae30-c55a22a8dfae',
    kmsViaService: 'dynamodb.eu-west-1.amazonaws.com',
  }
}

/** AWS KMS with a data key of 32 bytes, each against the bare echo of the same body. */
export async function awsScenarios(
  warder: Installation,
  kms: HttpsClient,
  echoUrl: string,
): Promise<readonly Scenario[]> {
  const administrator = await createAdministrator(warder, kms)
  const { id = '', secret = '' } = await administrator.ask('/v1/external-stores/aws/access-keys', { region })
  const credential = { id, secret, region }
  const kid = await administrator.grantedKey({ kty: 'oct', alg: 'A256GCM' }, `aws:${awsPrincipalArn}`, [
    'encrypt',
    'decrypt',
    'getattributes',
  ])
  const { host } = new URL(warder.kmsUrl)
  const scenario = (name: string, operation: string, json: Json, includes: string): Scenario => {
    const path = `/aws/kms/xks/v1/keys/${kid}/${operation}`
    const body = JSON.stringify(json)
    const request = { method: 'POST', body } as const
    return {
      ...request,
      name,
      server: 'kms',
      url: warder.kmsUrl + path,
      // A signature is valid for five minutes, so each drive has its own.
      get headers() {
        // The load generator names the host so, and adds the content type itself.
        const all = signXksRequest(credential, `localhost:${new URL(warder.kmsUrl).port}`, path, body)
        return Object.fromEntries(Object.entries(all).filter(([name]) => name !== 'content-type'))
      },
      expect: { status: 200, includes },
      halfLoad: true,
      limit: {
        ...request,
        name: `bare echo of ${name}`,
        server: 'echo',
        url: `${echoUrl}/`,
        headers: {},
        expect: { status: 200, includes: 'requestMetadata' },
      },
    }
  }
  const aad = Buffer.from(JSON.stringify({ 'aws:dynamodb:tableName': 'orders' })).toString('base64')
  const plaintext = Buffer.alloc(32, 7).toString('base64')
  const encrypt = {
    requestMetadata: requestMetadata('GenerateDataKey'),
    additionalAuthenticatedData: aad,
    plaintext,
    encryptionAlgorithm: 'AES_GCM',
  }
  const checked = { ...encrypt, ciphertextDataIntegrityValueAlgorithm: 'SHA_256' }
  const path = `/aws/kms/xks/v1/keys/${kid}/encrypt`
  const signed = signXksRequest(credential, host, path, JSON.stringify(encrypt))
  const sealed = await administrator.ask(path, encrypt, signed)
  const decrypt = {
    requestMetadata: requestMetadata('Decrypt'),
    additionalAuthenticatedData: aad,
    encryptionAlgorithm: 'AES_GCM',
    ...sealed,
  }
  return [
    scenario('XKS encrypt a data key', 'encrypt', encrypt, '"ciphertext"'),
    scenario('XKS encrypt with integrity value', 'encrypt', checked, '"ciphertextDataIntegrityValue"'),
    scenario('XKS decrypt a data key', 'decrypt', decrypt, plaintext),
  ]
}
