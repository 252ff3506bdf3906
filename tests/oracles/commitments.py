"""Savings plans once more: hour by hour in plain Python, as one large program, and by trying every corner."""

from itertools import combinations, product

import numpy as np
from scipy.optimize import linprog

_SCALE = 1e5  # HiGHS lets each row miss by 1e-7, whatever its size


def plain_total(usd, ec2, compute, plans, money):
    """Dollars for hours of {family: on demand}, as AWS applies plans: EC2 plans first, then what saves most."""
    total = 0.0
    for hour in usd:
        left = {}
        for family, cost in enumerate(hour):
            left[family] = cost - min(cost, plans[family] / ec2[family])
        purse = money
        for family in sorted(left, key=lambda family: compute[family]):
            covered = min(left[family], purse / compute[family])
            left[family] -= covered
            purse = max(purse - covered * compute[family], 0.0)
        total += sum(plans) + money + sum(left.values())
    return total


def written_out(usd, ec2, compute):
    """The least total, by the whole linear program: two unknowns for each hour and family beside the commitments."""
    hours, families = usd.shape
    cells = hours * families
    cost = np.concatenate([np.full(families + 1, float(hours)), np.zeros(cells), np.ones(cells)])
    rows, limits = [], []
    for hour, family in product(range(hours), range(families)):
        row = np.zeros(len(cost))
        at = hour * families + family
        row[family] = -1.0 / ec2[family]
        row[families + 1 + at] = row[families + 1 + cells + at] = -1.0
        rows.append(row)
        limits.append(-usd[hour, family] * _SCALE)
    for hour in range(hours):
        row = np.zeros(len(cost))
        row[families] = -1.0
        begin = families + 1 + hour * families
        row[begin : begin + families] = compute
        rows.append(row)
        limits.append(0.0)
    return linprog(cost, np.array(rows), np.array(limits)).fun / _SCALE


def every_corner(usd, ec2, compute):
    """The least total over all points where as many kinks meet as there are commitments: the optimum is one of them."""
    hours, families = usd.shape
    planes = [([*(float(at == family) for at in range(families)), 0.0], 0.0) for family in range(families)]
    planes.append(([0.0] * families + [1.0], 0.0))
    for hour in range(hours):
        for family in range(families):
            normal = [float(at == family) for at in range(families)]
            planes.append(([*normal, 0.0], ec2[family] * usd[hour, family]))
        for size in range(1, families + 1):
            for some in combinations(range(families), size):
                normal = [compute[at] / ec2[at] if at in some else 0.0 for at in range(families)]
                planes.append(([*normal, 1.0], sum(compute[at] * usd[hour, at] for at in some)))
    planes = [planes[at] for at in {(tuple(normal), level): at for at, (normal, level) in enumerate(planes)}.values()]
    best = plain_total(usd, ec2, compute, [0.0] * families, 0.0)
    for chosen in combinations(planes, families + 1):
        normals = np.array([normal for normal, _ in chosen])
        if abs(np.linalg.det(normals)) < 1e-9:
            continue
        point = np.linalg.solve(normals, np.array([level for _, level in chosen]))
        if (point >= -1e-9).all():
            point = np.maximum(point, 0.0)
            best = min(best, plain_total(usd, ec2, compute, point[:-1].tolist(), float(point[-1])))
    return best
