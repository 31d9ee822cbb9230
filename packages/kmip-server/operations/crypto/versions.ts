import { Failure } from '@warder/base'
import { type BackendKey, modulusBits, planRsa } from '@warder/crypto'
import { type Key, type KeyReader, processingVersion, protectingVersion, versionsToTry } from '@warder/keys'
import { StorageUnavailable } from '@warder/storage'
import { type DeclaredOperation, defineOperation } from '../../engine/operation.ts'
import type { KmipContext, WholeAnswer } from '../../engine/types.ts'
import { KmipFailure, kmipFailure } from '../../failure/failure.ts'
import type { Fields, Given } from '../../payloads/payload.ts'
import {
  type CryptographicFields,
  type CryptographicRequest,
  isPart,
} from '../../streams/cryptographic-request.ts'
import { planEncryption } from './encrypt.ts'
import { findBackendKey, resolveParameters } from './key-use.ts'

// A client may name a key that was rotated (docs/adr/key-life-cycle-and-versions.md). Operations that protect use its
// newest version, which the answer names; operations that process try the versions. Both require that a wrong version
// is detected.

type Cryptographic<Reply extends Fields> = DeclaredOperation<CryptographicFields, Reply>
type Answer<Reply extends Fields> = Given<Reply> | WholeAnswer

/** Protects with the newest version of a key; a replaced version cannot protect. */
export function withNewest<Reply extends Fields>(one: Cryptographic<Reply>): Cryptographic<Reply> {
  return defineOperation({
    ...one,
    async handle(request, context) {
      const { newestId, supersededAt } = context.key.object
      if (newestId === undefined && supersededAt === undefined) return await one.handle(request, context)
      const newest = await newestIn(context)
      const named = context.key
      if (newest !== named && isPart(request)) throw sayVersion()
      context.use(newest)
      if (newest !== named && one.name === 'Encrypt') {
        const held = await findBackendKey(context)
        if (!tellsVersions(held, request, context)) throw sayVersion()
      }
      return one.handle(request, context)
    },
  })
}

async function newestIn({ objects, key, isVersionNamed }: KmipContext): Promise<Key> {
  if (isVersionNamed && key.object.supersededAt !== undefined)
    throw kmipFailure(
      'WrongKeyLifecycleState',
      'A newer version has replaced this one: it can no longer encrypt, sign or wrap.',
    )
  try {
    return await protectingVersion(keyReader(objects), key)
  } catch (error) {
    throw asLifeCycle(error)
  }
}

/** The failure for a version that is replaced or too old. */
function asLifeCycle(error: unknown): unknown {
  return error instanceof Failure && error.kind === 'crypto_failure'
    ? kmipFailure('WrongKeyLifecycleState', error.message)
    : error
}

function keyReader(objects: KmipContext['objects']): KeyReader {
  return { get: (id) => objects.key(id) }
}

/** Tries the versions of a key, the newest first, if the client names the key and not a version. */
export function overVersions<Reply extends Fields>(one: Cryptographic<Reply>): Cryptographic<Reply> {
  return defineOperation({
    ...one,
    handle(request, context) {
      const { newestId, minGeneration } = context.key.object
      if (newestId === undefined && minGeneration === 0 && context.key.object.generation === 0)
        return one.handle(request, context)
      return tryVersions(one, request, context)
    },
  })
}

async function tryVersions<Reply extends Fields>(
  one: Cryptographic<Reply>,
  request: CryptographicRequest,
  context: KmipContext,
): Promise<Answer<Reply>> {
  const named = context.key
  const reader = { db: context.services.db, keys: keyReader(context.objects) }
  // If nothing distinguishes versions, the name of the key means generation 0: all earlier data was protected by it.
  const exact = context.isVersionNamed || isPart(request)
  if (exact || (one.name === 'Decrypt' && !tellsVersions(await findBackendKey(context), request, context))) {
    context.use(await exactly(reader.keys, named))
    return one.handle(request, context)
  }
  let problem: unknown
  let answer: Answer<Reply> | undefined
  // A later version, named by its own id.
  if (named.object.newestId === undefined) await exactly(reader.keys, named)
  for await (const version of versionsToTry(reader, named)) {
    context.use(version)
    try {
      const made = await one.handle(request, context)
      if (!isInvalid(made)) return made
      answer ??= made
    } catch (error) {
      if (error instanceof StorageUnavailable || !isRefusal(error)) throw error
      problem ??= error
    }
  }
  if (answer !== undefined) return answer
  throw problem ?? kmipFailure('WrongKeyLifecycleState', 'No version of the key is allowed to process data.')
}

async function exactly(keys: KeyReader, named: Key): Promise<Key> {
  try {
    return await processingVersion(keys, named)
  } catch (error) {
    throw asLifeCycle(error)
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof KmipFailure || (error instanceof Failure && error.status < 500)
}

function isInvalid(answer: object): boolean {
  return 'validity' in answer && answer.validity === 'Invalid'
}

/**
 * Is a wrong version detected? Ciphers without a tag, RSA with PKCS#1 v1.5 and ML-KEM return a wrong result instead of
 * failing.
 */
function tellsVersions(held: BackendKey, request: CryptographicRequest, context: KmipContext): boolean {
  const { shape } = held
  if (shape.type === 'secret') return planEncryption(context, held, request, 'decrypt').tag > 0
  if (shape.asymmetricKeyType !== 'rsa') return false
  const { object } = context.key
  const parameters = resolveParameters(object, request.parameters)
  return planRsa(modulusBits(shape), parameters, context.services.policy).padding === 'OAEP'
}

function sayVersion(): KmipFailure {
  return kmipFailure(
    'WrongKeyLifecycleState',
    `The key was rotated, and the request does not show which version it needs: name one (<id>@latest, <id>@first, <id>@N).`,
  )
}
