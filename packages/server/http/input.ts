import { failure, parseJsonBody } from '@warder/base'
import Type from 'typebox'
import type { LargeBody, Operation, OperationInput } from '../operations/types.ts'
import type { HttpRequest } from './request.ts'
import { type Check, compileCheck } from './validation.ts'

/** An operation with its schemas compiled, once. */
export interface CompiledOperation<Services> {
  readonly operation: Operation<Services>
  readonly checkPath: Check | undefined
  readonly checkQuery: Check
  readonly checkBody: Check | undefined
  readonly bodyLimit: number
}

export function compileOperation<Services>(
  operation: Operation<Services>,
  maxBodyBytes: number,
): CompiledOperation<Services> {
  const { pathParameters, queryParameters = noParameters, request } = operation
  const { foreignMembers, foreignParameters } = operation
  return {
    operation,
    checkPath: pathParameters && compileCheck(pathParameters, 'Invalid path parameter', 'any'),
    checkQuery: compileCheck(
      queryParameters,
      'Invalid query parameter',
      foreignParameters?.names,
      'parameter',
    ),
    checkBody: request && compileCheck(request, 'Invalid request body', foreignMembers?.names),
    bodyLimit: Math.min(operation.bodyLimit ?? maxBodyBytes, maxBodyBytes),
  }
}

const noParameters = Type.Object({})
const noMembers: Readonly<Record<string, string>> = Object.freeze(Object.create(null))

/** Path, query and body as plain values, each checked by its schema. Throws failure('bad_request') and 415. */
export function validateInput<Services>(
  compiled: CompiledOperation<Services>,
  request: HttpRequest,
  parameters: Readonly<Record<string, string>>,
): OperationInput {
  const query = validateParameters(compiled, request, parameters)
  const { checkBody, operation } = compiled
  if (checkBody === undefined && operation.rawBody !== true) requireNoBody(request)
  if (checkBody === undefined || !holdsJson(operation, request))
    return { path: parameters, query, body: undefined }
  const body = parseJsonBody(request.body)
  checkBody(body)
  return { path: parameters, query, body }
}

/** How the body of this request is read outside of the event loop; undefined: it is not. */
export function findLargeBody<Services>(
  { checkBody, operation: { largeBody } }: CompiledOperation<Services>,
  { body }: HttpRequest,
): LargeBody | undefined {
  return checkBody !== undefined && largeBody !== undefined && body.length >= largeBody.fromBytes
    ? largeBody
    : undefined
}

/** As `validateInput`, with a body that is read outside of the event loop. */
export async function validateLargeInput<Services>(
  compiled: CompiledOperation<Services>,
  largeBody: LargeBody,
  request: HttpRequest,
  parameters: Readonly<Record<string, string>>,
): Promise<OperationInput> {
  const query = validateParameters(compiled, request, parameters)
  holdsJson(compiled.operation, request)
  const { value, large } = await largeBody.read(request.body)
  compiled.checkBody?.(value)
  return { path: parameters, query, body: value, large }
}

/** @returns the query @throws failure('bad_request') */
function validateParameters<Services>(
  { checkPath, checkQuery }: CompiledOperation<Services>,
  request: HttpRequest,
  parameters: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  checkPath?.(parameters)
  const query = request.rawQuery === '' ? noMembers : readQuery(request)
  checkQuery(query)
  return query
}

/** RFC 9110 §9.3.1: the body of these methods has no meaning. */
const withoutBody: ReadonlySet<string> = new Set(['GET', 'HEAD', 'LIST'])

/**
 * Refuses a body that the operation would ignore, so that no request of the caller is dropped silently. An empty object is accepted,
 * since some clients send one with every request.
 * @throws failure('bad_request')
 */
function requireNoBody({ method, body }: HttpRequest): void {
  if (body.length === 0 || withoutBody.has(method)) return
  const value = parseJsonBody(body)
  if (value === null || (typeof value === 'object' && Object.keys(value).length === 0)) return
  throw failure('bad_request', 'Invalid request body: this operation accepts no body.')
}

/** @returns false when there is no body and none is required @throws failure('bad_request') and 415 */
function holdsJson<Services>(operation: Operation<Services>, request: HttpRequest): boolean {
  if (request.body.length === 0) {
    if (operation.bodyOptional === true) return false
    throw failure('bad_request', 'Invalid request body: it is empty; a JSON text is expected.')
  }
  if (operation.anyContentType !== true) checkContentType(request.headers['content-type'])
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw failure('unsupported_media_type', 'A compressed request body is not supported.')
  }
  return true
}

const jsonMediaType =
  /^application\/(?:json|[a-z0-9!#$&^_.-]+\+json)[ \t]*(?:;[ \t]*charset="?utf-?8"?[ \t]*)?$/i

function checkContentType(contentType: string | undefined): void {
  if (contentType === 'application/json') return
  if (contentType === undefined) {
    throw failure(
      'bad_request',
      'Invalid request body: the header Content-Type: application/json is missing.',
    )
  }
  if (!jsonMediaType.test(contentType)) {
    throw failure('unsupported_media_type', 'The content type of the body must be application/json.')
  }
}

/** Refuses repeated parameters: parsers differ about which one counts. */
function readQuery(request: HttpRequest): Readonly<Record<string, string>> {
  if (request.rawQuery.includes('%')) {
    try {
      decodeURIComponent(request.rawQuery)
    } catch (cause) {
      throw failure('bad_request', 'Invalid query: it is not valid percent-encoding.', { cause })
    }
  }
  const query: Record<string, string> = Object.create(null)
  for (const [name, value] of request.query) {
    if (name in query) throw failure('bad_request', 'Invalid query: a parameter appears twice.')
    if (name.includes('\0') || value.includes('\0'))
      throw failure('bad_request', 'Invalid query: a parameter contains the character U+0000.')
    query[name] = value
  }
  return query
}
