import type { MaybePromise } from '@warder/base'
import type { OperationName } from '@warder/kmip-codec'
import type { Decoded, Fields, Given, Payload } from '../payloads/payload.ts'
import { type KmipAccess, type KmipContext, type KmipOperation, WholeAnswer } from './types.ts'

/**
 * An operation as it is declared: the members of its request and of its reply, and the function between them.
 *
 * Its file in `operations/` holds one `defineOperation({ name, access, request, reply, handle })`, and the list in
 * `operations/kmip-operations.ts` has a row for it. Query, rights, audit, metrics and the reference of the members
 * follow. Payloads are in the form of KMIP 2.x, whatever the client's version.
 */
export interface Declaration<Request extends Fields, Reply extends Fields> {
  readonly name: OperationName
  readonly access: KmipAccess
  readonly reach: KmipOperation['reach']
  readonly asks?: KmipOperation['asks']
  /** Members of the RequestPayload in the form of 2.x, in the order of the standard. */
  readonly request: Payload<Request>
  /** Members of the ResponsePayload in the form of 2.x, in the order of the standard. */
  readonly reply: Payload<Reply>
  /**
   * Executes the operation. Changes are staged in `context.objects`, never committed. It may run again from its start
   * after a concurrent change, so it must not keep state.
   * @throws kmipFailure, any Failure of the registry, KmipDecodeError
   */
  handle(request: Decoded<Request>, context: KmipContext): MaybePromise<Given<Reply> | WholeAnswer>
}

/** A declared operation, of which `withNewest` and the like make another one. */
export interface DeclaredOperation<Request extends Fields, Reply extends Fields>
  extends Declaration<Request, Reply> {
  readonly act: KmipOperation['act']
}

/** The row of a declared operation: decodes the request, handles it and encodes the reply. */
export function defineOperation<Request extends Fields, Reply extends Fields>(
  declaration: Declaration<Request, Reply>,
): DeclaredOperation<Request, Reply> {
  const { request, reply } = declaration
  const encode = (answer: Given<Reply> | WholeAnswer) =>
    answer instanceof WholeAnswer ? answer : reply.encode(answer)
  return {
    ...declaration,
    act: async (payload, context) =>
      encode(await declaration.handle(request.decode(payload, context.version), context)),
  }
}
