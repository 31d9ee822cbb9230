import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { type CloudServer, type Received, type Scripted, startCloudServer } from './cloud-server.ts'

export const awsKeyId = '11111111-2222-4333-8444-555555555555'
export const awsKeyArn = `arn:aws:kms:eu-central-1:111122223333:key/${awsKeyId}`
const material = randomBytes(32)

export interface AwsKmsRequest {
  readonly KeyId: string
  readonly EncryptionContext: Readonly<Record<string, string>>
  readonly Plaintext?: string
  readonly CiphertextBlob?: string
}

/** An error of an AWS API. */
export function failAws(code: string, message?: string, status = 400): Scripted {
  return { status, body: { __type: `com.amazonaws.kms#${code}`, ...(message !== undefined && { message }) } }
}

/** Encrypt and Decrypt of AWS KMS with one key, and the encryption context as additional data. */
export function serveAwsKms({ headers, body }: Received): Scripted {
  const operation = headers['x-amz-target']?.replace('TrentService.', '')
  const request = JSON.parse(body.toString()) as AwsKmsRequest
  const used =
    request.KeyId.startsWith('arn:') && !request.KeyId.includes(':alias/') ? request.KeyId : awsKeyArn
  const context = Buffer.from(JSON.stringify(request.EncryptionContext))
  if (operation === 'Encrypt') {
    const iv = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', material, iv).setAAD(context)
    const data = Buffer.concat([
      cipher.update(Buffer.from(request.Plaintext ?? '', 'base64')),
      cipher.final(),
    ])
    const blob = Buffer.concat([iv, data, cipher.getAuthTag()]).toString('base64')
    return {
      status: 200,
      body: { CiphertextBlob: blob, KeyId: used, EncryptionAlgorithm: 'SYMMETRIC_DEFAULT' },
    }
  }
  try {
    const bytes = Buffer.from(request.CiphertextBlob ?? '', 'base64')
    const decipher = createDecipheriv('aes-256-gcm', material, bytes.subarray(0, 12)).setAAD(context)
    decipher.setAuthTag(bytes.subarray(-16))
    const plain = Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()])
    return { status: 200, body: { Plaintext: plain.toString('base64'), KeyId: used } }
  } catch {
    return failAws('InvalidCiphertextException')
  }
}

/** AWS KMS with one key, which accepts every signature. */
export function startAwsCloud(): Promise<CloudServer> {
  return startCloudServer(serveAwsKms)
}
