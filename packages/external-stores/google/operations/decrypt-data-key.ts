import type { KeyObject } from 'node:crypto'
import { modulusBits, planRsa, softwareKey } from '@warder/keys'
import type { OperationContext } from '@warder/server'
import Type from 'typebox'
import { decodeBase64 } from '../../scope/base64.ts'
import type { ExternalStoreServices } from '../../scope/services.ts'
import { encryptionNamed } from '../keys/private-key-algorithms.ts'
import { limits } from './common.ts'

/** Members of a request with the ciphertext and its parameters. */
export const encryptedDataKey = {
  algorithm: Type.String({
    description: 'RSA/ECB/PKCS1Padding, or RSA/ECB/OAEPwithSHA-1|256|512andMGF1Padding',
  }),
  encrypted_data_encryption_key: Type.String({ description: 'base64; 1 KB at most.' }),
  rsa_oaep_label: Type.Optional(Type.String({ description: 'The label of OAEP, base64.' })),
}

interface Encrypted {
  readonly algorithm: string
  readonly encrypted_data_encryption_key: string
  readonly rsa_oaep_label?: string
}

export async function decryptDataKey(
  context: OperationContext<ExternalStoreServices>,
  key: KeyObject,
  body: Encrypted,
): Promise<{ readonly data_encryption_key: string }> {
  const { rsa_oaep_label: text = '' } = body
  const label = text === '' ? undefined : decodeBase64(text, 'rsa_oaep_label', limits.encryptedDataKey)
  const parameters = encryptionNamed(body.algorithm, label)
  context.audit({ algorithm: body.algorithm.slice(0, 64) })
  const encrypted = decodeBase64(
    body.encrypted_data_encryption_key,
    'encrypted_data_encryption_key',
    limits.encryptedDataKey,
  )
  const plan = planRsa(modulusBits(key), parameters, context.services.policy)
  const opened = await softwareKey(key).decryptRsa(plan, encrypted)
  const data_encryption_key = opened.toString('base64')
  opened.fill(0)
  return { data_encryption_key }
}
