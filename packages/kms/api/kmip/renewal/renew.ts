import { randomUUID } from 'node:crypto'
import { decodeNode, emptyHeader, encodeNode, readResponse, writeRequest } from '@warder/kmip/messages'
import { Tag } from '@warder/kmip/tables'
import { interval, structure, textString } from '@warder/kmip/ttlv'
import type { ManagedObject } from '../../../keys/index.ts'
import type { KmipEngine } from '../engine/types.ts'

/** Renews a pair with its certificate. @returns the new private key, or why there is none */
export async function renewPair(
  engine: KmipEngine,
  { id, owner }: ManagedObject,
): Promise<string | { readonly reason: string; readonly message: string }> {
  // Without an offset the new certificate would have the dates of the old one.
  const members = [textString(Tag.PrivateKeyUniqueIdentifier, id), interval(Tag.Offset, 0)]
  const request = writeRequest({
    version: '2.1',
    bare: false,
    header: emptyHeader,
    items: [
      {
        operation: 'ReKeyKeyPair',
        uniqueBatchItemId: undefined,
        ephemeral: undefined,
        payload: structure(Tag.RequestPayload, members),
        extensions: [],
        refusal: undefined,
      },
    ],
  })
  const caller = {
    principal: { name: owner, method: 'renewal' },
    clientAddress: '-',
    requestId: randomUUID(),
  }
  const answer = await engine.answer(encodeNode(request, 'ttlv'), 'ttlv', caller)
  const [item] = readResponse(decodeNode(answer, 'ttlv')).items
  const replacement = item?.payload?.find(({ tag }) => tag === Tag.PrivateKeyUniqueIdentifier)?.value
  if (typeof replacement === 'string') return replacement
  return { reason: String(item?.reason), message: String(item?.message) }
}
