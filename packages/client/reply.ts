import { ClientError } from './error.ts'
import type { Answer } from './transport.ts'

/** Returns the JSON of a successful answer. @throws ClientError for every other answer */
export function readReply({ status, headers, body }: Answer): unknown {
  const json = parseJson(body)
  const requestId = readFirstValue(headers['x-request-id'])
  if (status === 204) return undefined
  if (status >= 200 && status < 300) {
    if (json !== undefined) return json
    throw new ClientError({
      kind: 'unexpected_reply',
      description: 'the response is not JSON; check the address of the service',
      status,
      requestId,
    })
  }
  const said = readError(json)
  throw new ClientError({
    kind: said?.error ?? 'unexpected_reply',
    description: said?.description ?? `the response has status ${status} and no error description`,
    status,
    requestId,
    retryAfter: readSeconds(readFirstValue(headers['retry-after'])),
  })
}

function readError(json: unknown): { readonly error: string; readonly description: string } | undefined {
  if (typeof json !== 'object' || json === null) return undefined
  const { error, description } = json as { error?: unknown; description?: unknown }
  return typeof error === 'string' && typeof description === 'string' ? { error, description } : undefined
}

/** RFC 9110 §10.2.3; the services do not use the date form. */
function readSeconds(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

/** The first value of a header. */
export function readFirstValue(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0]
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body))
  } catch {
    return undefined
  }
}
