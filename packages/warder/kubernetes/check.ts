import { Client, credentials } from '@grpc/grpc-js'
import { printable, type Terminal } from '@warder/command-line'
import { type StatusResponse, status } from './messages.ts'

/** The timeout of the API server. */
const withinMs = 3000

/** Requests the Status of the provider at a socket, like the API server, and prints it. @returns the exit code */
export async function checkProvider(socket: string, terminal: Terminal): Promise<number> {
  const client = new Client(`unix:${socket}`, credentials.createInsecure())
  try {
    const { version, healthz, keyId } = await fetchStatus(client)
    terminal.out(`${printable(version)} ${printable(healthz)}, key id ${printable(keyId)}`)
    return healthz === 'ok' ? 0 : 1
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    terminal.err(`warder kubernetes-kms: ${printable(`the provider at ${socket} does not respond: ${why}`)}`)
    return 1
  } finally {
    client.close()
  }
}

function fetchStatus(client: Client): Promise<StatusResponse> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      '/v2.KeyManagementService/Status',
      () => Buffer.alloc(0),
      status.decode,
      {},
      { deadline: Date.now() + withinMs },
      (error, reply) => {
        if (error === null && reply !== undefined) resolve(reply)
        else reject(error ?? new Error('the answer is empty'))
      },
    )
  })
}
