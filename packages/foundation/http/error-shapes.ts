import type { Operation } from '../operations/types.ts'

/**
 * Clients of another product's interface read its shape of errors also where no operation answers: a path that begins
 * like operations of that shape, and like no other, has it too.
 * @returns the shape for a path, as it came
 */
export function errorShapes<Services>(
  operations: readonly Operation<Services>[],
): (path: string) => 'vault' | undefined {
  const shapes = new Map<string, Set<'vault' | undefined>>()
  for (const { route, errorShape } of operations) {
    const first = firstSegment(route.path)
    shapes.set(first, (shapes.get(first) ?? new Set()).add(errorShape))
  }
  return (path) => {
    const found = shapes.get(firstSegment(path))
    return found?.size === 1 && found.has('vault') ? 'vault' : undefined
  }
}

function firstSegment(path: string): string {
  return path.split('/', 2)[1] ?? ''
}
