import type { AuditEvent } from '@warder/audit'
import { failure, toFailure } from '@warder/base'
import { createAuditedItem, recordItems, signedIn } from '@warder/keys'
import {
  compileCheck,
  type Operation,
  type OperationContext,
  type OperationInput,
  post,
} from '@warder/server'
import Type, { type Static } from 'typebox'
import { define, type RestServices } from './services.ts'

/** Maximum number of items in a batch. */
const maxBatchItems = 1000

interface Verb {
  readonly operation: Operation<RestServices>
  readonly check: (value: unknown) => void
}

const BatchRequest = Type.Object({
  operations: Type.Array(
    Type.Object(
      { op: Type.String({ description: 'encrypt, decrypt, sign, verify, mac, rewrap or datakey' }) },
      { additionalProperties: true, description: 'Has the members of that operation.' },
    ),
    { maxItems: maxBatchItems },
  ),
})
const BatchReply = Type.Object({
  results: Type.Array(
    Type.Union([
      Type.Object({ op: Type.String(), status: Type.Literal(200), result: Type.Unknown() }),
      Type.Object({
        op: Type.String(),
        status: Type.Integer(),
        error: Type.String(),
        description: Type.String(),
      }),
    ]),
  ),
})

interface AnsweredItem {
  readonly reply: Static<typeof BatchReply>['results'][number]
  readonly event: AuditEvent
}

const noParameters: Readonly<Record<string, never>> = Object.freeze({})

/**
 * `POST /v1/crypto/batch`: every crypto verb, item by item, through the same checks, rights and handlers as its own
 * path. Each item is answered in its place and has an audit record of its own.
 */
export function batchOperation(
  verbs: Readonly<Record<string, Operation<RestServices>>>,
): Operation<RestServices> {
  const table = new Map<string, Verb>(
    Object.entries(verbs).map(([op, operation]) => {
      if (operation.request === undefined) throw new Error(`${operation.name} has no body to batch`)
      return [op, { operation, check: compileCheck(operation.request, 'Invalid operation', ['op']) }]
    }),
  )

  async function run(
    item: { readonly op: string },
    context: OperationContext<RestServices>,
  ): Promise<unknown> {
    const verb = table.get(item.op)
    if (verb === undefined) throw failure('bad_request', 'Invalid operation: op is not supported in a batch.')
    verb.check(item)
    const input: OperationInput = { path: noParameters, query: noParameters, body: item }
    const { operation } = verb
    await operation.access.check?.(input, context)
    return operation.act(input, context)
  }

  async function answer(
    item: { readonly op: string },
    whole: OperationContext<RestServices>,
  ): Promise<AnsweredItem> {
    const { context, event } = createAuditedItem(
      whole,
      () => table.get(item.op)?.operation.name ?? 'crypto.batch.unknown',
    )
    const op = item.op.slice(0, 64)
    try {
      return { reply: { op, status: 200, result: await run(item, context) }, event: event(200, undefined) }
    } catch (thrown) {
      const problem = toFailure(thrown)
      if (problem.status >= 500) whole.log.error({ detail: problem.detail, op }, 'an item of a batch failed')
      const { status, kind: error, message: description } = problem
      return { reply: { op, status, error, description }, event: event(status, error) }
    }
  }

  return define({
    name: 'crypto.batch',
    reach: ['make ciphertext', 'reveal plaintext', 'make signature', 'make mac', 'reveal validity'],
    asks: ['encrypt', 'decrypt', 'sign', 'signatureverify', 'mac'],
    route: post('/v1/crypto/batch'),
    summary: 'Many crypto operations in one request',
    tag: 'Crypto',
    access: signedIn,
    request: BatchRequest,
    reply: BatchReply,
    async act({ body }, context) {
      const answers = await Promise.all(body.operations.map((item) => answer(item, context)))
      context.audit({ details: { items: answers.length } })
      await recordItems(context, answers)
      return { results: answers.map(({ reply }) => reply) }
    },
  })
}
