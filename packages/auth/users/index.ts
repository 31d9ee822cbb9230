import { knownOperations } from './known.ts'
import { personOperations } from './persons.ts'

export const userOperations = [...knownOperations, ...personOperations]
