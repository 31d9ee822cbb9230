import assert from 'node:assert/strict'
import {
  contentTypes,
  decodeNode,
  type Encoding,
  encodeNode,
  type KmipVersion,
  type OperationName,
  type RequestItem,
  type ResponseItem,
  structure,
  Tag,
  type TtlvNode,
  writeRequest,
} from '@warder/kmip-codec'
import {
  emptyHeader,
  type RequestHeader,
  type ResponseMessage,
  readResponse,
} from '@warder/kmip-codec/testing'
import type { Caller } from '@warder/kms/testing'

export interface KmipClientOptions {
  readonly version?: KmipVersion
  readonly encoding?: Encoding
}

/** One item as a test writes it: payload members in the form of 2.x. */
export interface Ask {
  readonly operation: OperationName
  readonly payload?: readonly (TtlvNode | undefined)[]
  readonly id?: Uint8Array
  readonly ephemeral?: boolean
  readonly extensions?: RequestItem['extensions']
}

/** A KMIP client over HTTP at `/kmip`. */
export interface KmipClient {
  send(asks: readonly Ask[], header?: Partial<RequestHeader>): Promise<ResponseMessage>
  /** One item, with any outcome. */
  ask(operation: OperationName, payload?: readonly (TtlvNode | undefined)[]): Promise<ResponseItem>
  /** One item that has to succeed; its payload. */
  do(operation: OperationName, payload?: readonly (TtlvNode | undefined)[]): Promise<Payload>
  /** One item that has to fail with this reason; its message. */
  fails(operation: OperationName, payload: readonly (TtlvNode | undefined)[], reason: string): Promise<string>
}

/** The payload of an answer. */
export class Payload {
  readonly nodes: readonly TtlvNode[]

  constructor(nodes: readonly TtlvNode[] = []) {
    this.nodes = nodes
  }

  /** Value of the member with this tag. */
  get(tag: number): unknown {
    return this.nodes.find((node) => node.tag === tag)?.value
  }

  /** UniqueIdentifier, which must be there. */
  get id(): string {
    const id = this.get(Tag.UniqueIdentifier)
    assert.ok(typeof id === 'string', 'the answer has a UniqueIdentifier')
    return id
  }
}

export function kmipClient(caller: Caller, options: KmipClientOptions = {}): KmipClient {
  const { version = '2.1', encoding = 'ttlv' } = options
  const send: KmipClient['send'] = async (asks, header = {}) => {
    const request = writeRequest({
      version,
      bare: false,
      header: { ...emptyHeader, ...header },
      items: asks.map(({ operation, payload = [], id, ephemeral, extensions = [] }) => ({
        operation,
        uniqueBatchItemId: id,
        ephemeral,
        payload: structure(Tag.RequestPayload, payload),
        extensions,
        refusal: undefined,
      })),
    })
    const answer = await caller.call('POST', '/kmip', {
      bytes: encodeNode(request, encoding),
      headers: { 'content-type': contentTypes[encoding] },
    })
    assert.equal(answer.status, 200, answer.text)
    assert.match(answer.headers['content-type'] ?? '', new RegExp(`^${contentTypes[encoding]}`))
    return readResponse(decodeNode(answer.bytes, encoding, { draft: version === '3.0' }))
  }
  const ask: KmipClient['ask'] = async (operation, payload = []) => {
    const { items } = await send([{ operation, payload }])
    assert.equal(items.length, 1)
    const [item] = items
    assert.ok(item)
    assert.equal(item.operation, operation)
    return item
  }
  return {
    send,
    ask,
    async do(operation, payload) {
      const item = await ask(operation, payload)
      assert.equal(item.status, 'Success', `${operation}: ${item.reason} ${item.message}`)
      return new Payload(item.payload)
    },
    async fails(operation, payload, reason) {
      const item = await ask(operation, payload)
      assert.deepEqual({ status: item.status, reason: item.reason }, { status: 'OperationFailed', reason })
      assert.equal(item.payload, undefined)
      return item.message ?? ''
    },
  }
}
