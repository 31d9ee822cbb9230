import { failure } from '@warder/base'
import { reasonOfKind, signedIn } from '@warder/keys'
import { asksForFetchForm, contentTypes, type Encoding, findEncoding } from '@warder/kmip-codec'
import {
  type ErrorShape,
  errorBody,
  type Operation,
  type OperationContext,
  post,
  rawReply,
} from '@warder/server'
import { define, type KmipServices } from '../engine/services.ts'
import type { KmipAnswerOptions, KmipEngine } from '../engine/types.ts'

/** Maximum size of a message over HTTP, in bytes. */
const maxMessageBytes = 64 * 1024 * 1024

const errors = {
  401: 'The caller is not authenticated.',
  413: 'The message is longer than 64 MiB.',
  415: 'The content type is not one of a KMIP message.',
} as const

/** Failures of a bare operation, including those before the engine, have the KMIP reason in `result_reason`. */
const bareErrors: ErrorShape = {
  reply: (failure, { id }) => ({
    json: { result_reason: reasonOfKind[failure.kind], ...errorBody(failure, id) },
  }),
}

/**
 * KMIP over HTTP: `/kmip/2_1` and `/kmip/1_4` in JSON, `/kmip` in any encoding and version.
 * @param draft also `/kmip/3_0`
 */
export function kmipRoutes(engine: KmipEngine, draft: boolean): readonly Operation<KmipServices>[] {
  const bare = (version: '3.0' | '2.1' | '1.4', path: string): Operation<KmipServices> =>
    define({
      name: `kmip.http.${version.replace('.', '_')}`,
      route: post(path),
      summary: `KMIP ${version} in JSON`,
      reach: [],
      description:
        'JSON TTLV: a RequestMessage, which is always answered 200 with a ResponseMessage, or one bare operation such as `{"tag":"Create","value":[…]}`, answered with `CreateResponse` or with an error whose `result_reason` is that of KMIP.',
      tag: 'KMIP',
      access: signedIn,
      bodyLimit: maxMessageBytes,
      rawBody: true,
      replyContentType: contentTypes.json,
      errorShape: bareErrors,
      errors: {
        ...errors,
        400: 'A bare operation cannot be read.',
        404: 'No such object.',
        422: 'It failed.',
      },
      act: (_input, context) => answerMessage(engine, context, 'json', { bareVersion: version }),
    })
  const any = define({
    name: 'kmip.http',
    reach: [],
    route: post('/kmip'),
    summary: 'KMIP 1.0 to 2.1 in any encoding',
    description:
      'A RequestMessage as `application/octet-stream` (TTLV), `application/json` or `text/xml`; the ResponseMessage comes in the same encoding and is always 200.',
    tag: 'KMIP',
    access: signedIn,
    bodyLimit: maxMessageBytes,
    rawBody: true,
    replyContentType: contentTypes.ttlv,
    errors,
    act(_input, context) {
      const encoding = findEncoding(context.request.headers['content-type'] ?? '')
      if (encoding === undefined)
        throw failure(
          'unsupported_media_type',
          'A KMIP message is application/octet-stream, application/json or text/xml.',
        )
      return answerMessage(engine, context, encoding, {})
    },
  })
  const drafts = draft ? [bare('3.0', '/kmip/3_0')] : []
  return [...drafts, bare('2.1', '/kmip/2_1'), bare('1.4', '/kmip/1_4'), any]
}

async function answerMessage(
  engine: KmipEngine,
  context: OperationContext<KmipServices>,
  encoding: Encoding,
  options: KmipAnswerOptions,
): Promise<unknown> {
  const { request, principal } = context
  const compression = request.headers['content-encoding']
  if (compression !== undefined && compression !== 'identity')
    throw failure('unsupported_media_type', 'A compressed request body is not supported.')
  // Each item of the message has its own record.
  context.recorded?.()
  const { id: requestId, clientAddress } = request
  const fetchForm = options.bareVersion !== undefined && asksForFetchForm(request.headers)
  const caller = { principal, clientAddress, requestId, fetchForm, certificate: request.peerCertificate() }
  return reply(await engine.answer(request.body, encoding, caller, options), encoding)
}

function reply(raw: Uint8Array, encoding: Encoding) {
  return rawReply({ raw, contentType: contentTypes[encoding] })
}
