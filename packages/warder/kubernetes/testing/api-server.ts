import { type Client, credentials, makeGenericClientConstructor, type ServiceError } from '@grpc/grpc-js'
import protobuf from 'protobufjs'

/** k8s.io/kms/apis/v2/api.proto, its messages as they are published. */
const proto = `
syntax = "proto3";
package v2;
message StatusRequest {}
message StatusResponse { string version = 1; string healthz = 2; string key_id = 3; }
message DecryptRequest { bytes ciphertext = 1; string uid = 2; string key_id = 3; map<string, bytes> annotations = 4; }
message DecryptResponse { bytes plaintext = 1; }
message EncryptRequest { bytes plaintext = 1; string uid = 2; }
message EncryptResponse { bytes ciphertext = 1; string key_id = 2; map<string, bytes> annotations = 3; }
`

const types = protobuf.parse(proto, { keepCase: true }).root
const methods = ['Status', 'Encrypt', 'Decrypt'] as const
type Method = (typeof methods)[number]

export interface Reply {
  readonly version: string
  readonly healthz: string
  readonly key_id: string
  readonly ciphertext: Buffer
  readonly plaintext: Buffer
  readonly annotations: Readonly<Record<string, Buffer>>
}

/** The API server's side of the interface, with a reader and writer of messages that is not the provider's. */
export class ApiServer {
  readonly #client: Client

  constructor(socket: string) {
    const definition = Object.fromEntries(
      methods.map((method) => [
        method,
        {
          path: `/v2.KeyManagementService/${method}`,
          requestStream: false,
          responseStream: false,
          requestSerialize: (message: object | Buffer) =>
            Buffer.isBuffer(message)
              ? message
              : Buffer.from(types.lookupType(`v2.${method}Request`).encode(message).finish()),
          requestDeserialize: () => undefined,
          responseSerialize: () => Buffer.alloc(0),
          responseDeserialize: (bytes: Buffer) => {
            const type = types.lookupType(`v2.${method}Response`)
            return type.toObject(type.decode(bytes), { bytes: Buffer, defaults: true })
          },
        },
      ]),
    )
    const Service = makeGenericClientConstructor(definition, 'KeyManagementService')
    this.#client = new Service(`unix:${socket}`, credentials.createInsecure())
  }

  /** @param message its fields, or bytes that are sent as they are @param withinMs deadline of the call */
  call(method: Method, message: object | Buffer, withinMs = 30_000): Promise<Reply> {
    const call = (this.#client as unknown as Record<Method, Call>)[method].bind(this.#client)
    return new Promise((resolve, reject) => {
      call(message, { deadline: Date.now() + withinMs }, (error, reply) =>
        error === null ? resolve(reply) : reject(error),
      )
    })
  }

  /** The status of gRPC with which a call fails, and its sentence. */
  async callRefused(method: Method, message: object | Buffer, withinMs?: number): Promise<ServiceError> {
    try {
      await this.call(method, message, withinMs)
    } catch (error) {
      return error as ServiceError
    }
    throw new Error(`${method} succeeded`)
  }

  close(): void {
    this.#client.close()
  }
}

type Call = (
  message: object,
  options: { readonly deadline: number },
  done: (error: ServiceError | null, reply: Reply) => void,
) => void
