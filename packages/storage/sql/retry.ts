import { failure } from '@warder/base'
import { GuardFailed } from './errors.ts'

/**
 * Repeats an operation from its read when another commit was faster, at most `times` times.
 * @throws failure('conflict') when every attempt failed
 */
export async function retryOnGuard<R>(times: number, run: () => Promise<R>): Promise<R> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof GuardFailed)) throw error
      if (attempt >= times) {
        throw failure('conflict', 'Another request changed the same data concurrently: try again.', {
          cause: error,
        })
      }
    }
  }
}
