import { CovercryptError } from '@warder/covercrypt'
import {
  abeAlgorithm,
  abeMaterial,
  abeThread,
  countItems,
  readFraming,
  requireAbe,
  requireUse,
  takeUse,
} from '@warder/keys'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { type CryptographicRequest, isPart, requireData } from '../../streams/cryptographic-request.ts'
import { resolveParameters } from './key-use.ts'

const none = new Uint8Array(0)

interface Answer {
  readonly uniqueIdentifier: string
  readonly data: Uint8Array
}

/** Encrypts for the policy that precedes the data. IVCounterNonce has no meaning here. */
export async function encryptAbe(request: CryptographicRequest, context: KmipContext): Promise<Answer> {
  const { object } = context.key
  requireAbe(object, 'public')
  const { framing, data, aad, count } = readWhole(request, context, 'seal')
  takeUse(context, object, data.length, true)
  const publicKey = await abeMaterial(context.objects, object)
  const work = abeThread.run({ type: 'seal', publicKey, framing, data, aad })
  const sealed = await withFailedItem(work, count, context)
  if (framing === 'several' && count !== undefined) context.auditItems({ count, policies: sealed.policies })
  const policies = [...new Set(sealed.policies)]
  context.audit({ algorithm: abeAlgorithm, details: { policy: policies.join(' ; ').slice(0, 1024) } })
  await requireStill(context, 'encrypt')
  return answer(context, sealed.data)
}

/** Decrypts with a user key. The audit record contains the policy of the key; that of the ciphertext cannot be read. */
export async function decryptAbe(request: CryptographicRequest, context: KmipContext): Promise<Answer> {
  const { object } = context.key
  const { policy } = requireAbe(object, 'user')
  const { framing, data, aad, count } = readWhole(request, context, 'open')
  context.audit({
    algorithm: abeAlgorithm,
    ...(policy !== undefined && { details: { policy: policy.slice(0, 1024) } }),
  })
  const userKey = await abeMaterial(context.objects, object)
  try {
    const work = abeThread.run({ type: 'open', userKey, framing, data, aad })
    const opened = await withFailedItem(work, count, context)
    await requireStill(context, 'decrypt')
    return answer(context, opened)
  } finally {
    userKey.fill(0)
  }
}

function readWhole(request: CryptographicRequest, context: KmipContext, type: 'seal' | 'open') {
  if (isPart(request))
    throw kmipFailure(
      'InvalidField',
      'Attribute-based encryption does not support multi-part operations: send all data in one request.',
    )
  const { cryptographicAlgorithm } = resolveParameters(context.key.object, request.parameters)
  const data = requireData(request)
  const framing = readFraming(data, cryptographicAlgorithm)
  const count = countItems(type, framing, data)
  if (count !== undefined) context.auditItems({ count })
  return { framing, data, aad: request.aad ?? none, count }
}

/** Sets the failed item for the audit records of the items. */
async function withFailedItem<Result>(
  work: Promise<Result>,
  count: number | undefined,
  context: KmipContext,
): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (count !== undefined && error instanceof CovercryptError)
      context.auditItems({ count, failed: error.item })
    throw error
  }
}

/** The key may have been revoked or destroyed while the thread worked. */
async function requireStill(context: KmipContext, use: 'encrypt' | 'decrypt'): Promise<void> {
  const now = await context.objects.read(context.key.object.id)
  if (now === undefined) throw kmipFailure('ObjectNotFound', 'DENIED')
  requireUse(context, now, use)
}

function answer({ key }: KmipContext, data: Uint8Array): Answer {
  return { uniqueIdentifier: key.object.id, data }
}
