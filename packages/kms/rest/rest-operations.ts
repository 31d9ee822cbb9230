import type { Operation } from '@warder/server'
import { getStructure } from './abe-structure.ts'
import { accessQueries } from './access-queries.ts'
import { aliasOperations } from './aliases.ts'
import { awsAccessKeyOperations } from './aws-access-keys.ts'
import { batchOperation } from './batch.ts'
import { blockOperations } from './blocks.ts'
import { createKey } from './create-key.ts'
import { dataKey } from './data-key.ts'
import { decrypt } from './decrypt.ts'
import { deleteKey } from './delete-key.ts'
import { encrypt } from './encrypt.ts'
import { externalStoreOperations } from './external-stores.ts'
import { getKey } from './get-key.ts'
import { grantOperations } from './grants.ts'
import { listKeys } from './inventory.ts'
import { jwks } from './jwks.ts'
import { setDates } from './key-dates.ts'
import { lifeOperations } from './key-life.ts'
import { rotationOperations } from './key-rotation.ts'
import { tagOperations } from './key-tags.ts'
import { keyUses } from './key-uses.ts'
import { versionOperations } from './key-versions.ts'
import { mac } from './mac.ts'
import { rewrap } from './rewrap.ts'
import { rotateKey } from './rotate-key.ts'
import type { RestServices } from './services.ts'
import { sign } from './sign.ts'
import { systemOperations } from './system.ts'
import { transferOperations } from './transfer.ts'
import { uiOperations } from './ui-session.ts'
import { unwrapKey } from './unwrap-key.ts'
import { verify } from './verify.ts'

/** Max bytes of bodies without caller data: a key with all of its members is much smaller than the service's limit. */
const bodyLimit = 256 * 1024

/** The operation for bodies that hold no data of callers. */
export function withoutData<Services>(
  ...operations: readonly Operation<Services>[]
): readonly Operation<Services>[] {
  return operations.map((operation) => ({ bodyLimit, ...operation }))
}

/** Every operation of the REST API. */
export const restOperations: readonly Operation<RestServices>[] = [
  ...withoutData(
    ...systemOperations,
    jwks,
    listKeys,
    createKey,
    getKey,
    deleteKey,
    unwrapKey,
    rotateKey,
    getStructure,
  ),
  encrypt,
  decrypt,
  sign,
  verify,
  mac,
  rewrap,
  batchOperation({ encrypt, decrypt, sign, verify, mac, rewrap, datakey: dataKey }),
  ...withoutData(
    ...versionOperations,
    ...rotationOperations,
    dataKey,
    ...tagOperations,
    ...aliasOperations,
    ...lifeOperations,
    setDates,
    keyUses,
    ...grantOperations,
    ...blockOperations,
    ...transferOperations,
    ...accessQueries,
    ...externalStoreOperations,
    ...awsAccessKeyOperations,
    ...uiOperations,
  ),
]
