"""Whole lifecycles of jobs on the real stack while everything breaks: is anything lost, left or held twice?"""
