import { pathSegments } from '../operations/define.ts'
import type { ErrorShape, Operation } from '../operations/types.ts'

/** The shapes of the operations at one place in the tree of paths, and below it. */
interface PathNode {
  readonly texts: Map<string, PathNode>
  parameter: PathNode | undefined
  /** Of the operations that are exactly here. */
  readonly here: Set<ErrorShape | undefined>
  /** Of those, and of all below. */
  readonly all: Set<ErrorShape | undefined>
}

/**
 * Shapes of errors for paths without an operation: clients of an interface read its shape there too. A path that an
 * operation has for another method has the shape of that operation; any other has that of the operations that share its
 * longest known beginning. If those differ, and at a path with no known beginning, it is the default shape; a shape that
 * adds members to the default shape does not differ from it.
 * @returns the shape for a path as received
 */
export function createErrorShapes<Services>(
  operations: readonly Operation<Services>[],
): (path: string) => ErrorShape | undefined {
  const root = createNode()
  for (const { route, errorShape } of operations) {
    let place = root
    for (const { kind, value } of pathSegments(route.path)) {
      if (kind === 'tail') break
      if (kind === 'text') {
        const next: PathNode = place.texts.get(value) ?? createNode()
        place.texts.set(value, next)
        place = next
      } else {
        place.parameter ??= createNode()
        place = place.parameter
      }
      place.all.add(errorShape)
    }
    place.here.add(errorShape)
  }
  return (path) => findShape(root, path)
}

function findShape(root: PathNode, path: string): ErrorShape | undefined {
  let place = root
  for (const segment of path === '/' ? [] : path.slice(1).split('/')) {
    const next: PathNode | undefined = place.texts.get(segment) ?? place.parameter
    if (next === undefined) return only(place.all)
    place = next
  }
  return only(place.here.size === 0 ? place.all : place.here)
}

function only(shapes: ReadonlySet<ErrorShape | undefined>): ErrorShape | undefined {
  const [shape, ...others] = [...shapes].filter((one) => one !== undefined)
  if (others.length > 0 || (shapes.has(undefined) && shape?.addsToDefault !== true)) return undefined
  return shape
}

function createNode(): PathNode {
  return { texts: new Map(), parameter: undefined, here: new Set(), all: new Set() }
}
