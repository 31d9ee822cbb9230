import type { MaybePromise } from '@warder/base'
import type { Right } from '@warder/keys'
import { type OperationName, Tag } from '@warder/kmip-codec'
import {
  type Decoded,
  definePayload,
  type Fields,
  field,
  type Given,
  type GivenPayload,
  type Payload,
  required,
} from '../payloads/payload.ts'
import { type KmipAccess, type KmipContext, type KmipOperation, WholeAnswer } from './types.ts'

/** All authenticated callers. */
export const signedIn: KmipAccess = { kind: 'signed in' }

/** Requires the right to create objects. */
export const creates: KmipAccess = { kind: 'create' }

interface ObjectAccessOptions {
  /** Tag of the member that names the object; default UniqueIdentifier. */
  readonly member?: number
  /** true: also requires the right to create objects (ReKey, DeriveKey …). */
  readonly creates?: boolean
}

/** Requires `right` on the object that the payload names, which becomes `context.object`. */
export function objectRight(right: Right, options: ObjectAccessOptions = {}): KmipAccess {
  return objectAccess(right, options, false)
}

/** As `objectRight`, for operations that use the key: `context.key` is the decrypted key. */
export function keyUse(right: Right, options: ObjectAccessOptions = {}): KmipAccess {
  return objectAccess(right, options, true)
}

function objectAccess(right: Right, options: ObjectAccessOptions, key: boolean): KmipAccess {
  const { member = Tag.UniqueIdentifier, creates = false } = options
  return { kind: 'object', right, member, key, creates }
}

/** The object of a request; absent: that of the placeholder. */
export const namedObject = field.identifier(Tag.UniqueIdentifier)

/** A request that contains only its object. */
export const objectRequest = definePayload({ uniqueIdentifier: namedObject })

/** A reply that contains only the identifier of its object. */
export const objectReply = definePayload({ uniqueIdentifier: required(namedObject) })

export type ObjectReply = GivenPayload<typeof objectReply>

/** The reply of an operation that makes or changes a pair. */
export const pairReply = definePayload({
  privateKeyUniqueIdentifier: required(field.identifier(Tag.PrivateKeyUniqueIdentifier)),
  publicKeyUniqueIdentifier: required(field.identifier(Tag.PublicKeyUniqueIdentifier)),
})

export type PairReply = GivenPayload<typeof pairReply>

/** The attributes of a pair in a request: those of both halves, and of each. */
export const pairAttributes = {
  common: field.attributes(Tag.CommonAttributes),
  ofPrivate: field.attributes(Tag.PrivateKeyAttributes),
  ofPublic: field.attributes(Tag.PublicKeyAttributes),
}

/**
 * An operation as it is declared: the members of its request and of its reply, and the function between them.
 *
 * A file in `operations/` calls `defineOperation({ name, access, request, reply, handle })`, and the list in
 * `operations/kmip-operations.ts` has a row for the result. Query, rights, audit, metrics and the reference of the members
 * follow. Payloads are in the form of KMIP 2.x, whatever the client's version.
 */
interface Declaration<Request extends Fields, Reply extends Fields> {
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
