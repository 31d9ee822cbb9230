import {
  status as grpcStatus,
  type handleUnaryCall,
  Server,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js'
import type { Logger, Metrics } from '@warder/base'
import { decryptMessages, encryptMessages, status as statusMessages } from './messages.ts'
import type { Provider } from './provider.ts'
import { Refused, type RefusedKind } from './refused.ts'

/** Limit of one request: 1 kB each of ciphertext and key id, 32 kB of annotations, and their names. */
const maxRequestBytes = 64 * 1024
/** Maximum number of concurrent calls on all connections; each takes a few milliseconds. */
const maxCalls = 256

const codes: Readonly<Record<RefusedKind, grpcStatus>> = {
  invalid: grpcStatus.INVALID_ARGUMENT,
  denied: grpcStatus.PERMISSION_DENIED,
  not_found: grpcStatus.NOT_FOUND,
  busy: grpcStatus.RESOURCE_EXHAUSTED,
  unavailable: grpcStatus.UNAVAILABLE,
  internal: grpcStatus.INTERNAL,
}

export interface GrpcServiceOptions {
  readonly provider: Pick<Provider, 'status' | 'encrypt' | 'decrypt'>
  readonly log: Logger
  readonly metrics: Metrics
}

/** `v2.KeyManagementService` over gRPC, not yet bound. */
export function createGrpcServer({ provider, log, metrics }: GrpcServiceOptions): Server {
  let calls = 0

  /** Creates the handler of a method. Metrics contain the method and the gRPC status, the log neither data nor key id. */
  function createHandler<Request, Reply>(
    method: string,
    act: (request: Request) => Promise<Reply>,
    getUid: (request: Request) => string,
  ): handleUnaryCall<Request, Reply> {
    return (call: ServerUnaryCall<Request, Reply>, callback: sendUnaryData<Reply>) => {
      const begun = performance.now()
      const recordCall = (code: grpcStatus): void =>
        metrics.operation(`kubernetes.${method}`, code, performance.now() - begun)
      if (calls >= maxCalls) {
        recordCall(grpcStatus.RESOURCE_EXHAUSTED)
        callback({ code: grpcStatus.RESOURCE_EXHAUSTED, details: 'too many calls at once' })
        return
      }
      calls += 1
      act(call.request)
        .then(
          (reply) => {
            recordCall(grpcStatus.OK)
            callback(null, reply)
          },
          (error: unknown) => {
            const refused = error instanceof Refused ? error : undefined
            const code = refused === undefined ? grpcStatus.INTERNAL : codes[refused.code]
            const details = refused?.message ?? 'internal error of the provider; see its log'
            const fields = { method, uid: sanitizeUid(getUid(call.request)), code: grpcStatus[code] }
            if (refused === undefined) log.error({ ...fields, error }, 'a call failed')
            else log.warn({ ...fields, reason: refused.message }, 'a call was refused')
            recordCall(code)
            callback({ code, details })
          },
        )
        .finally(() => {
          calls -= 1
        })
    }
  }

  const server = new Server({
    'grpc.max_receive_message_length': maxRequestBytes,
    'grpc.max_concurrent_streams': maxCalls,
    'grpc-node.max_session_memory': 10,
  })
  server.addService(definition, {
    Status: createHandler(
      'Status',
      () => provider.status(),
      () => '',
    ),
    Encrypt: createHandler('Encrypt', provider.encrypt.bind(provider), ({ uid }) => uid),
    Decrypt: createHandler('Decrypt', provider.decrypt.bind(provider), ({ uid }) => uid),
  })
  return server
}

const unary = { requestStream: false, responseStream: false } as const
const refuseRequest = (): never => {
  throw new Error('a server does not send requests')
}
const refuseReply = (): never => {
  throw new Error('a server does not read replies')
}

const definition = {
  Status: {
    ...unary,
    path: '/v2.KeyManagementService/Status',
    // It has no fields.
    requestDeserialize: () => ({}),
    responseSerialize: statusMessages.encode,
    requestSerialize: refuseRequest,
    responseDeserialize: refuseReply,
  },
  Encrypt: {
    ...unary,
    path: '/v2.KeyManagementService/Encrypt',
    requestDeserialize: encryptMessages.decode,
    responseSerialize: encryptMessages.encode,
    requestSerialize: refuseRequest,
    responseDeserialize: refuseReply,
  },
  Decrypt: {
    ...unary,
    path: '/v2.KeyManagementService/Decrypt',
    requestDeserialize: decryptMessages.decode,
    responseSerialize: decryptMessages.encode,
    requestSerialize: refuseRequest,
    responseDeserialize: refuseReply,
  },
}

/** Sanitizes the request identifier of the API server for the log. */
function sanitizeUid(uid: string): string {
  return /^[\w.-]{1,64}$/.test(uid) ? uid : ''
}
