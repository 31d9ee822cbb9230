import type { Operation } from '@warder/foundation/operations'
import type { KmsServices } from '../../services.ts'
import { rotateKey } from './abe-rotate.ts'
import { getStructure } from './abe-structure.ts'
import { accessQueries } from './access-queries.ts'
import { awsAccessKeyOperations } from './aws-access-keys.ts'
import { batchOperation } from './batch.ts'
import { blockOperations } from './blocks.ts'
import { createKey } from './create-key.ts'
import { decrypt } from './decrypt.ts'
import { deleteKey } from './delete-key.ts'
import { encrypt } from './encrypt.ts'
import { externalStoreOperations } from './external-stores.ts'
import { getKey } from './get-key.ts'
import { grantOperations } from './grants.ts'
import { jwks } from './jwks.ts'
import { tagOperations } from './key-tags.ts'
import { mac } from './mac.ts'
import { sign } from './sign.ts'
import { systemOperations } from './system.ts'
import { transferOperations } from './transfer.ts'
import { uiOperations } from './ui-session.ts'
import { unwrapKey } from './unwrap-key.ts'
import { verify } from './verify.ts'

/** Nothing but data of callers is as large as the service permits; a key with all of its members is not. */
const bodyLimit = 256 * 1024

/** The operation for bodies that hold no data of callers. */
export function withoutData(
  ...operations: readonly Operation<KmsServices>[]
): readonly Operation<KmsServices>[] {
  return operations.map((operation) => ({ bodyLimit, ...operation }))
}

/** Every operation of the REST API. */
export const restOperations: readonly Operation<KmsServices>[] = [
  ...withoutData(...systemOperations, jwks, createKey, getKey, deleteKey, unwrapKey, rotateKey, getStructure),
  encrypt,
  decrypt,
  sign,
  verify,
  mac,
  batchOperation({ encrypt, decrypt, sign, verify, mac }),
  ...withoutData(
    ...tagOperations,
    ...grantOperations,
    ...blockOperations,
    ...transferOperations,
    ...accessQueries,
    ...externalStoreOperations,
    ...awsAccessKeyOperations,
    ...uiOperations,
  ),
]
